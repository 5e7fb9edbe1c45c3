/** Executes every row of the table in docs/state-machine.md with the production code that implements it. */
import assert from "node:assert/strict";
import { deliveryStates, type DeliveryState } from "../../../src/domain/delivery.ts";
import { type TableRow, tableRows } from "../../../src/domain/delivery-table.fixture.ts";
import type { Store } from "../../../src/ports/store.ts";
import type { ClaimedDelivery, EndCommand } from "../../../src/ports/store/deliveries.ts";
import type { StoredDelivery } from "../../../src/ports/store/history.ts";
import { ageMsMax, type Answer, Holder } from "./holder.fixture.ts";
import {
  claim,
  day,
  lane,
  minute,
  newWebhook,
  only,
  publish,
  retry,
  runToEnd,
  start,
} from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";
import { listDeadLetters } from "../../listed-deliveries.ts";

/** A delivery in the state that a row describes. */
interface Subject {
  readonly store: Store;
  readonly holder: Holder;
  readonly id: string;
  readonly eventId: string;
  readonly webhookId: string;
  /** When the delivery was published. */
  readonly since: number;
  /** The delivery as its holder claimed it, before another actor ended it; null if it has no holder. */
  readonly claimed: ClaimedDelivery | null;
}

type Step = (subject: Subject) => Promise<unknown>;

/** Longer than every lease and every maximum age here. */
const muchLaterMs = day;

type TimedAnswer = Answer & { readonly afterMs: number };

/** Responses, with their time of arrival, for each value of the column "When". */
const answers: Readonly<Record<string, readonly TimedAnswer[]>> = {
  accepted: [{ status: 204, afterMs: 5 }],
  terminal: [{ status: 422, afterMs: 5 }],
  "not accepted": [
    { status: 422, afterMs: 5 },
    { status: 500, afterMs: 5 },
  ],
  "transient, attempts and time left": [{ status: 500, afterMs: 5 }],
  "transient, last attempt": [{ status: 500, afterMs: 5, attemptsMax: 1 }],
  "transient, Retry-After beyond the maximum age": [{ status: 503, afterMs: 5, retryAfter: "999999" }],
  "transient, next retry beyond the maximum age": [{ status: 500, afterMs: ageMsMax - 1 }],
};

const expireInStore: Step = ({ store, webhookId, since }) =>
  runToEnd(() =>
    store.upkeep.expire({
      now: since + muchLaterMs,
      limit: 10,
      ageMsDefault: 9_999 * day,
      ageMsByWebhook: new Map([[webhookId, ageMsMax]]),
    }),
  );

const deleteWebhook: Step = async ({ store, webhookId, since }) => {
  await store.webhooks.delete(webhookId, since);
  await store.upkeep.cancelWebhook({ webhookId, now: since + 5, limit: 10 });
};

/** Refused while the delivery is leased. */
const retryByHand: Step = async ({ store, id, webhookId, since }) => {
  const result = await retry(store, id, { lane: lane(webhookId), at: since + muchLaterMs });
  assert.equal(result.kind, "accepted");
};

/** Retries the delivery manually before its next request is due. Refused while the delivery is leased. */
const retryEarly: Step = async ({ store, id, webhookId, since }) => {
  const result = await retry(store, id, { lane: lane(webhookId), at: since - 1 });
  assert.equal(result.kind, "accepted");
};

/** Refused while the delivery is leased. */
function endedByHand(event: EndCommand["event"]): Step {
  return async ({ store, id, since }) => {
    const command = { event, tenantId: "default", ids: [id], now: since + muchLaterMs };
    assert.deepEqual(await store.deliveries.end(command), ["ended"]);
  };
}

const giveBack: Step = async ({ store, claimed }) => {
  if (claimed !== null) await store.deliveries.release([claimed.lease]);
};

function heldEnds(event: Parameters<Holder["ended"]>[1]["event"]): Step {
  return async ({ holder, claimed, since }) => {
    assert.ok(claimed !== null);
    assert.equal(await holder.ended(claimed, { event, at: since + muchLaterMs }), "settled");
  };
}

function answered(answer: TimedAnswer): Step {
  return async ({ holder, claimed, since }) => {
    assert.ok(claimed !== null);
    assert.equal(await holder.answered(claimed, { ...answer, at: since + answer.afterMs }), "settled");
  };
}

/** All the ways in which production code can perform a row. */
function waysOf({ state, event, when }: TableRow): readonly Step[] {
  const waits = state === "pending" || state === "failed";
  const free =
    (step: Step): Step =>
    async (subject) => {
      await giveBack(subject);
      await step(subject);
    };
  switch (event) {
    case "attempted":
      return (answers[when] ?? []).map(answered);
    case "expired":
      return waits
        ? [heldEnds({ kind: event }), expireInStore, free(expireInStore)]
        : [heldEnds({ kind: event })];
    case "payload_unavailable":
    case "payload_refused":
    case "foreign_webhook":
    case "compose_failed":
      return [heldEnds({ kind: event })];
    case "webhook_deleted":
      return [deleteWebhook, free(deleteWebhook)];
    case "retried":
      if (!waits) return [retryByHand];
      return when === "due already" ? [retryByHand, free(retryByHand)] : [free(retryEarly)];
    case "cancel_requested":
      return [endedByHand(event), free(endedByHand(event))];
    case "discarded":
      return [endedByHand(event)];
    default:
      return event satisfies never;
  }
}

type Arrival = (place: Place) => Promise<Subject>;

type Place = Pick<Subject, "store" | "since">;

/** All the ways to reach each state. Where possible, the delivery is still held afterwards. */
const arrivals: Readonly<Record<DeliveryState, readonly Arrival[]>> = {
  pending: [held],
  failed: [
    async (place) => {
      const subject = await held(place);
      await answered({ status: 500, afterMs: 1 })(subject);
      const again = await claim(subject.store, lane(subject.webhookId), { now: subject.since + 2_000 });
      return { ...subject, claimed: only(again.deliveries) };
    },
  ],
  success: [
    async (place) => {
      const subject = await held(place);
      await answered({ status: 200, afterMs: 1 })(subject);
      return { ...subject, claimed: null };
    },
  ],
  exhausted: [after(expireInStore)],
  skipped: [async (place) => ({ ...(await published(place, "skipped")), claimed: null })],
  cancelled: [
    after(deleteWebhook),
    after(endedByHand("cancel_requested")),
    after(async (subject) => {
      await expireInStore(subject);
      await endedByHand("discarded")(subject);
    }),
  ],
};

function after(end: Step): Arrival {
  return async (place) => {
    const subject = await held(place);
    await end(subject);
    return subject;
  };
}

async function published(
  { store, since }: Place,
  state: "pending" | "skipped",
): Promise<Omit<Subject, "claimed">> {
  const webhook = newWebhook();
  await store.webhooks.save(webhook);
  const { event, deliveries } = await publish(store, {
    event: { createdAt: since },
    deliveries: [{ lane: lane(webhook.id), state }],
  });
  const holder = new Holder(store);
  return { store, holder, id: only(deliveries).id, eventId: event.id, webhookId: webhook.id, since };
}

async function held(place: Place): Promise<Subject> {
  const subject = await published(place, "pending");
  const terms = { now: place.since, leaseUntil: place.since + minute };
  const { deliveries } = await claim(place.store, lane(subject.webhookId), terms);
  return { ...subject, claimed: only(deliveries) };
}

interface Stand {
  readonly delivery: StoredDelivery;
  readonly attempts: number;
  readonly deadLettersListed: number;
  readonly deadLettersCounted: number;
}

async function standOf({ store, id, webhookId }: Subject): Promise<Stand> {
  const delivery = await store.history.getDelivery(null, id);
  assert.ok(delivery !== null);
  return {
    delivery,
    attempts: (await store.history.listAttempts(id)).length,
    deadLettersListed: (await listDeadLetters(store.history, { webhookIds: [webhookId] })).rows.length,
    deadLettersCounted: (await store.deliveries.depth()).deadLetters.get("default") ?? 0,
  };
}

const deadLetterChange = { written: 1, closed: -1, none: 0 } as const;

function compare(row: TableRow, before: Stand, now: Stand): void {
  const place = JSON.stringify(row);
  const [was, is] = [before.delivery.progress, now.delivery.progress];
  assert.equal(is.state, row.result === "as before" ? was.state : row.result, place);
  assert.match(String(is.reason), reasonOf(row, was.reason), place);
  const made = row.isAttempt ? 1 : 0;
  assert.deepEqual([is.attemptCount - was.attemptCount, now.attempts - before.attempts], [made, made], place);
  const change = deadLetterChange[row.deadLetter];
  assert.equal(now.deadLettersListed - before.deadLettersListed, change, place);
  assert.equal(now.deadLettersCounted - before.deadLettersCounted, change, place);
}

function reasonOf({ reason }: TableRow, before: string | null): RegExp {
  if (reason === "none") return /^null$/;
  if (reason === "permanent_*") return /^permanent_/;
  if (reason === "of the answer") return /^server_error_500$/;
  return new RegExp(`^${reason === "as before" ? before : reason}$`);
}

export const stateMachine: StoreTheme = (check) => {
  for (const state of deliveryStates) {
    check(`a delivery that is ${state} changes as docs/state-machine.md says`, async (store) => {
      // Time must advance, because upkeep does not scan earlier times again.
      let since = start;
      for (const row of tableRows().filter((each) => each.state === state)) {
        const ways = waysOf(row);
        assert.ok(ways.length > 0, JSON.stringify(row));
        for (const arrive of arrivals[state]) {
          for (const way of ways) {
            const subject = await arrive({ store, since: (since += 2 * muchLaterMs) });
            const before = await standOf(subject);
            assert.equal(before.delivery.progress.state, state);
            await way(subject);
            compare(row, before, await standOf(subject));
          }
        }
      }
    });
  }
};
