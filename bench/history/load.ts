import { randomBytes } from "node:crypto";
import { createHealth } from "../../src/domain/endpoint-health.ts";
import { bucketAt, type Fact, publishFacts, settlementFact } from "../../src/domain/statistics/facts.ts";

import { OpenBuckets } from "../../src/domain/statistics/open-buckets.ts";
import type { SecretBox } from "../../src/ports/secret-box.ts";
import type { Store } from "../../src/ports/store.ts";
import type {
  Lease,
  PublishCommand,
  Settlement,
  WebhookRuntimeState,
} from "../../src/ports/store/deliveries.ts";
import {
  commit,
  lane,
  newAttempt,
  newWebhook,
  progressed,
  publishCommand,
} from "../../test/conformance/store/scene.fixture.ts";

export interface HistoryShape {
  readonly deliveries: number;
  /** A multiple of 500, so that the number of webhooks of each tenant is a multiple of ten. */
  readonly webhooks: number;
  /** End of the history in Unix milliseconds. The history begins one day earlier. */
  readonly endsAt: number;
}

const dayMinutes = 1_440;
const minuteMs = 60_000;
const dayMs = dayMinutes * minuteMs;
const tenants = 50;
export const tenantIds: readonly string[] = Array.from({ length: tenants }, (_, index) => tenantOf(index));
/** Limits how many groups of webhooks get events in the same minute. */
const activeGroupsPerMinute = 20;
/** Number of webhooks in a group. Each event goes to all webhooks of one group, which belong to the same tenant. */
const fanOut = 10;
const deliveriesPerCommit = 2_000;
const savers = 16;
const statisticsWriter = 2 ** 47 + 1;

const eventTypes = ["order.paid", "order.sent", "user.updated", "invoice.made", "stock.low"] as const;
const body = new TextEncoder().encode(
  JSON.stringify({ type: "order.paid", data: { text: "x".repeat(300) } }),
);

/** Out of 1,000 deliveries, 2 are dead letters and 4 wait for a retry on the next day. */
const ends = {
  dead: { state: "exhausted", outcome: "terminal", category: "client_error", statusCode: 422 },
  failed: { state: "failed", outcome: "transient", category: "server_error", statusCode: 503 },
  accepted: { state: "success", outcome: "accepted", category: null, statusCode: 200 },
} as const;

/**
 * Writes one day of history through the store's commits: webhooks, events, deliveries, attempts and statistics, all
 * settled. Every column, counter and bucket is as a server would leave it.
 */
export class HistoryLoader {
  readonly #store: Store;
  readonly #shape: HistoryShape;
  readonly #webhookIds: readonly string[];
  readonly #buckets = new OpenBuckets(500);
  #written = 0;
  #commits = 0;

  constructor(store: Store, shape: HistoryShape) {
    this.#store = store;
    this.#shape = shape;
    this.#webhookIds = Array.from({ length: shape.webhooks }, () => newIdAt(shape.endsAt - dayMs));
  }

  /**
   * `secretBox` must encrypt signing keys in the same way as the server that reads them. Returns the number of
   * deliveries.
   */
  async write(secretBox: Pick<SecretBox, "seal" | "digest">): Promise<number> {
    await this.#saveWebhooks(secretBox);
    const { deliveries, endsAt } = this.#shape;
    const perMinute = fanOut * Math.ceil(deliveries / dayMinutes / fanOut);
    const beginsAt = bucketAt(endsAt, "minute") - dayMs;
    for (let minute = 0; minute < dayMinutes; minute += 1)
      await this.#writeMinute(minute, beginsAt + minute * minuteMs, perMinute);
    await this.#writeStatistics(endsAt + 2 * minuteMs);
    await commit(this.#store, { webhookStates: this.#states() });
    while ((await this.#store.statistics.rollUp(endsAt, 10_000)).more);
    return this.#written;
  }

  /** Saves several webhooks concurrently, so that their commits share disk flushes. */
  async #saveWebhooks(secretBox: Pick<SecretBox, "seal" | "digest">): Promise<void> {
    const all = this.#webhookIds.entries();
    const saver = async (): Promise<void> => {
      for (const [index, id] of all) {
        const plaintext = `whsec_${randomBytes(24).toString("base64")}`;
        const key = {
          kind: "symmetric",
          ciphertext: secretBox.seal(plaintext, id),
          digest: secretBox.digest(plaintext),
          createdAt: this.#shape.endsAt - dayMs,
          expiresAt: null,
        } as const;
        const url = `https://customer-${index}.example.com/hooks`;
        const webhook = newWebhook({ id, tenantId: tenantOf(index), url, events: [`load.n${index % 500}`] });
        await this.#store.webhooks.save(webhook, { secrets: [key] });
      }
    };
    await Promise.all(Array.from({ length: savers }, saver));
  }

  /** States of the failing webhooks. One in ten webhooks of each tenant has been failing for some time. */
  #states(): readonly WebhookRuntimeState[] {
    const failing = this.#webhookIds.filter((_, index) => Math.floor(index / tenants) % 10 === 0);
    return failing.map((webhookId, index) => {
      const lastFailedAt = this.#shape.endsAt - index * 1_000;
      const health = { ...createHealth(), failingSince: lastFailedAt - 1_000, lastFailedAt };
      return {
        webhookId,
        pausedUntil: null,
        pauseReason: null,
        lastSuccessAt: null,
        circuit: null,
        health: JSON.stringify(health),
      };
    });
  }

  async #writeMinute(minute: number, startsAt: number, deliveries: number): Promise<void> {
    const groups = Math.min(activeGroupsPerMinute, deliveries / fanOut);
    for (let from = 0; from < deliveries; from += deliveriesPerCommit) {
      const at = startsAt + Math.floor((from / deliveries) * minuteMs);
      const events = Math.min(deliveriesPerCommit, deliveries - from) / fanOut;
      const publishes = Array.from({ length: events }, (_, index) =>
        this.#publish(at, minute * groups + ((from / fanOut + index) % groups)),
      );
      const { publishes: results } = await commit(this.#store, { publishes });
      const settlements: Settlement[] = [];
      const facts: Fact[] = [];
      for (const [index, command] of publishes.entries()) {
        const result = results[index];
        const { tenantId, eventType } = command.event;
        facts.push(...publishFacts({ tenantId, eventType, at, deliveries: fanOut, skipped: [] }));
        for (const [place, lease] of (result?.kind === "accepted" ? result.leases : []).entries()) {
          const settlement = this.#settle(lease, at);
          settlements.push(settlement);
          const { progress, attempt, settledAt } = settlement;
          const webhookId = command.deliveries[place]?.lane.webhookId ?? "";
          const settled = { tenantId, webhookId, progress, attempt, settledAt, bytes: body.length };
          const fact = settlementFact({ ...settled, isLate: false });
          if (fact !== null) facts.push(fact);
        }
      }
      await commit(this.#store, { settlements });
      this.#commits += 1;
      this.#buckets.add(facts, this.#commits, at);
    }
    await this.#writeStatistics(startsAt + 2 * minuteMs);
  }

  async #writeStatistics(now: number): Promise<void> {
    for (let rows = this.#buckets.take(now, 2_000); rows.length > 0; rows = this.#buckets.take(now, 2_000)) {
      const statistics = {
        writer: statisticsWriter,
        number: this.#commits,
        at: now,
        settled: [],
        published: [],
        rows,
        writtenTo: this.#commits,
        unwritten: { from: 0, since: now },
      };
      await commit(this.#store, { statistics });
    }
    this.#buckets.dropWritten(now + minuteMs);
  }

  #publish(at: number, group: number): PublishCommand {
    // In the list, consecutive webhooks of one tenant are `tenants` positions apart.
    const first = (group % tenants) + Math.floor(group / tenants) * fanOut * tenants;
    const webhooks = Array.from(
      { length: fanOut },
      (_, index) => this.#webhookIds[(first + index * tenants) % this.#webhookIds.length] ?? "",
    );
    const eventType = eventTypes[this.#written % eventTypes.length] ?? "";
    return publishCommand({
      event: { id: newIdAt(at), tenantId: tenantOf(group), eventType, source: "shop", createdAt: at, body },
      deliveries: webhooks.map((id) => ({ id: newIdAt(at), lane: lane(id), claim: true })),
    });
  }

  #settle(lease: Lease, at: number): Settlement {
    const number = this.#written;
    this.#written += 1;
    const { state, ...seen } = ends[endOf(number)];
    const isAccepted = state === "success";
    return {
      lease,
      settledAt: at + 40,
      progress: progressed({
        state,
        createdAt: at,
        firstAttemptAt: at,
        dueAt: state === "failed" ? this.#shape.endsAt + dayMs : at,
        reason: isAccepted ? null : "permanent_client_error_422",
      }),
      attempt: newAttempt({
        id: newIdAt(at),
        ...seen,
        responseSample: isAccepted ? "ok" : "refused by rule 7",
        durationMs: 20 + (number % 80),
        scheduledAt: at,
        executedAt: at,
      }),
    };
  }
}

function endOf(number: number): keyof typeof ends {
  if (number % 500 === 0) return "dead";
  return number % 250 === 1 ? "failed" : "accepted";
}

function tenantOf(index: number): string {
  return `tenant-${index % tenants}`;
}

/** A UUIDv7 for the given time. */
function newIdAt(at: number): string {
  const time = at.toString(16).padStart(12, "0");
  const rest = randomBytes(8).toString("hex");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest.slice(0, 3)}-8${rest.slice(3, 6)}-${rest.slice(4)}`;
}
