import assert from "node:assert/strict";
import type { AttemptRecord } from "../../../src/domain/delivery.ts";
import { problemKind } from "../../../src/features/problems/problem.ts";
import type { Connection, Source } from "../../../src/features/gateway/source.ts";
import { parseLossless } from "../../../src/domain/json/lossless.ts";
import { uuidV7Floor } from "../../../src/domain/uuid.ts";
import {
  everyRequest,
  type ReceivedRequest,
  type RequestFilter,
  type RequestPlace,
} from "../../../src/ports/store/gateway.ts";
import type { SearchPage } from "../../../src/ports/store/search.ts";
import type { Store } from "../../../src/ports/store.ts";
import { SearchBudget } from "../../../src/ports/clock.ts";
import type { NewDelivery } from "../../../src/ports/store/deliveries.ts";
import { commit, newAttempt, progressed, publishCommand, runToEnd, start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

const sourceOf = (id: string): Source => ({
  id,
  tenantId: "acme",
  name: "Ünïcode\u2028",
  description: "",
  party: null,
  tokens: [],
  verification: "c2VhbGVk",
  mode: "pass_through",
  acknowledgement: null,
  active: true,
  whenInactive: "gone",
  eventType: null,
  keyPointers: null,
  forwardHeaders: ["X-A"],
  forwardPath: false,
  passSignatures: false,
  allowPut: false,
  customResponse: null,
  rateLimit: null,
  bodyBytesMax: null,
  budgetMs: 10_000,
  dedupWindowMs: 1,
  createdAt: start,
  updatedAt: start,
  retriesWithinBudget: true,
  statusOverrides: { 410: 410 },
  handshake: null,
  allowProbes: [],
});

const connectionOf = (id: string, sourceId: string): Connection => ({
  id,
  tenantId: "acme",
  sourceId,
  webhookId: "w",
  name: "",
  required: true,
  pausedAt: null,
  delayMs: 5,
  deduplicate: null,
  retryDelaysMs: [1, 2],
  allowChain: true,
  filter: { body: { a: 1 } },
  releasingSince: null,
  createdAt: start,
  updatedAt: start,
});

/** An ID whose time of arrival is determined by the number. */
const idOf = (number: number) =>
  uuidV7Floor(start + number).replace(/0{4}$/, String(number).padStart(4, "0"));

const requestOf = (number: number, more: Partial<ReceivedRequest> = {}): ReceivedRequest => ({
  id: idOf(number),
  tenantId: "acme",
  sourceId: "s",
  receivedAt: start + number,
  method: "POST",
  path: "/in/…",
  headers: ["a", "b"],
  bodyBytes: 3,
  status: 202,
  outcome: "accepted",
  cause: null,
  detail: null,
  durationMs: 1.5,
  scheme: "v1",
  eventType: "a.b",
  originalType: null,
  eventId: null,
  forwards: [],
  sealedHeaders: null,
  bookmark: null,
  body: new Uint8Array([1, 0, 255]),
  more: 0,
  ...more,
});

function search(
  store: Store,
  filter: Partial<RequestFilter> = {},
  {
    after = null,
    limit = 100,
    rowsMax = 100_000,
  }: { after?: RequestPlace | null; limit?: number; rowsMax?: number } = {},
): Promise<SearchPage<ReceivedRequest, RequestPlace>> {
  const budget = new SearchBudget({ monotonicMs: () => 0 }, { rowsMax, durationMsMax: 1_000 });
  return store.gateway.searchRequests({ filter: { ...everyRequest, ...filter }, after, limit, budget });
}

const numbersOf = ({ rows }: SearchPage<ReceivedRequest, RequestPlace>) =>
  rows.map(({ id }) => Number(id.slice(-4)));

export const gateway: StoreTheme = (check) => {
  check("sources and connections are stored as saved, and deleted together", async (store) => {
    const [first, second] = [sourceOf("s1"), sourceOf("s2")];
    await store.gateway.saveSource({ ...first, name: "old" });
    await store.gateway.saveSource(first);
    await store.gateway.saveSource(second);
    for (const [id, of] of [
      ["c1", "s1"],
      ["c2", "s2"],
      ["c3", "s2"],
    ] as const)
      await store.gateway.saveConnection(connectionOf(id, of));
    assert.deepEqual(await store.gateway.sources(), [first, second]);
    await store.gateway.deleteConnection("c3");
    assert.deepEqual(await store.gateway.connections(), [connectionOf("c1", "s1"), connectionOf("c2", "s2")]);
    await store.gateway.deleteSource("s1");
    assert.deepEqual(await store.gateway.sources(), [second]);
    assert.deepEqual(await store.gateway.connections(), [connectionOf("c2", "s2")]);
  });

  check("requests of the gateway are listed newest first and filtered by outcome", async (store) => {
    const requests = [
      requestOf(1),
      requestOf(2, { tenantId: "beta", sourceId: "t" }),
      requestOf(3, { status: 401, outcome: "rejected", cause: "too_old" }),
      requestOf(4, { body: null }),
    ];
    await store.gateway.addRequests(requests);
    await store.gateway.addRequests([requestOf(1, { status: 500 })]);
    const found = async (filter: Partial<RequestFilter>) => numbersOf(await search(store, filter));
    assert.deepEqual(await found({}), [4, 3, 2, 1]);
    assert.deepEqual(await found({ tenantId: "acme" }), [4, 3, 1]);
    assert.deepEqual(await found({ sourceId: "t" }), [2]);
    assert.deepEqual(await found({ status: 401 }), [3]);
    assert.deepEqual(await found({ status: 202 }), [4, 2, 1]);
    assert.deepEqual(await found({ outcome: "rejected", cause: "too_old" }), [3]);
    assert.deepEqual(await found({ sourceId: "s", outcome: "rejected" }), [3]);
    assert.deepEqual(await found({ tenantId: "beta", outcome: "rejected" }), []);
    assert.deepEqual(await found({ tenantId: "beta", sourceId: "s" }), []);
    assert.deepEqual(await found({ tenantId: "acme", cause: "too_old" }), [3]);
    assert.deepEqual(await found({ bookmarked: false, tenantId: "beta" }), [2]);
    assert.deepEqual(await found({ from: start + 2, to: start + 4 }), [3, 2]);
    assert.deepEqual(await store.gateway.request(idOf(1)), requests[0]);
    assert.equal(await store.gateway.request(idOf(9)), null);
    const first = await search(store, {}, { limit: 3 });
    assert.deepEqual([numbersOf(first), first.searchedTo], [[4, 3, 2], start + 2]);
    const rest = await search(store, {}, { after: first.next });
    assert.deepEqual(rest.rows, [{ ...requests[0], body: null }]);
    assert.deepEqual([rest.next, rest.searchedTo], [null, null]);
  });

  check("a time range finds gateway requests whose clocks differ from their ids", async (store) => {
    const hour = 3_600_000;
    const late = (number: number, receivedAt: number) =>
      requestOf(number, { id: uuidV7Floor(start + number * hour), receivedAt, tenantId: `t${number}` });
    await store.gateway.addRequests([
      late(1, start + hour),
      late(2, start + 2 * hour + 50_000),
      late(3, start + 3 * hour - 50_000),
    ]);
    const found = async (filter: Partial<RequestFilter>) =>
      (await search(store, filter)).rows.map(({ tenantId }) => tenantId);
    assert.deepEqual(await found({ from: start + 2 * hour + 50_000 }), ["t3", "t2"]);
    assert.deepEqual(await found({ to: start + 3 * hour - 49_999 }), ["t3", "t2", "t1"]);
    assert.deepEqual(await found({ from: start + hour + 1, to: start + 3 * hour - 50_000 }), ["t2"]);
    assert.deepEqual(await found({ from: start + 4 * hour }), []);
    assert.deepEqual(await found({ to: start + hour }), []);
  });

  check("a page of the gateway's log stops at its budget, and paging reaches the end", async (store) => {
    const rare = { status: 207, sourceId: "rare" };
    for (let from = 0; from < 2_000; from += 500)
      await store.gateway.addRequests(
        Array.from({ length: 500 }, (_, index) => requestOf(from + index, from + index === 3 ? rare : {})),
      );
    const cut = await search(store, { status: 207 }, { rowsMax: 10 });
    assert.deepEqual([cut.rows, cut.isCutShort], [[], true]);
    assert.ok(
      (cut.searchedTo ?? 0) > start + 3 && (cut.searchedTo ?? 0) < start + 2_000,
      `${cut.searchedTo}`,
    );
    let page = cut;
    const found: number[] = [];
    for (let pages = 1; page.next !== null; pages += 1) {
      assert.ok(pages < 9, "each page comes further");
      page = await search(store, { status: 207 }, { rowsMax: 10, after: page.next });
      found.push(...numbersOf(page));
    }
    assert.deepEqual([found, page.isCutShort], [[3], false]);
    // An index is used, so the number of other rows does not matter.
    const ofSource = await search(store, { sourceId: "rare" }, { rowsMax: 10 });
    assert.deepEqual([numbersOf(ofSource), ofSource.isCutShort], [[3], false]);
  });

  check("the newest requests of a source are counted by outcome", async (store) => {
    await store.gateway.addRequests([
      requestOf(1, { outcome: "rejected" }),
      requestOf(2),
      requestOf(3, { outcome: "rejected" }),
      requestOf(4),
      requestOf(5, { sourceId: "t" }),
      requestOf(6, { sourceId: "u" }),
    ]);
    const found = await store.gateway.recentOutcomes({ sourceIds: ["s", "t", "none"], limit: 3 });
    const sorted = found.toSorted((left, right) => left.lastReceivedAt - right.lastReceivedAt);
    assert.deepEqual(sorted, [
      { sourceId: "s", outcome: "rejected", count: 1, lastReceivedAt: start + 3 },
      { sourceId: "s", outcome: "accepted", count: 2, lastReceivedAt: start + 4 },
      { sourceId: "t", outcome: "accepted", count: 1, lastReceivedAt: start + 5 },
    ]);
    assert.deepEqual(await store.gateway.recentOutcomes({ sourceIds: [], limit: 3 }), []);
  });

  check("a gateway request is stored again without its body, and a bookmark keeps it", async (store) => {
    await store.gateway.addRequests([requestOf(1), requestOf(2), requestOf(3)]);
    const changed = requestOf(1, { status: 202, outcome: "duplicate", eventId: "e", body: null });
    await store.gateway.updateRequest(changed);
    assert.equal(await store.gateway.bookmark({ id: idOf(1), name: "a good one", body: null }), true);
    assert.equal(await store.gateway.bookmark({ id: idOf(9), name: "none", body: null }), false);
    const sweep = { before: start + 3, bodiesBefore: start + 9, limit: 100 };
    assert.deepEqual(await store.gateway.forgetRequests(sweep), { changed: 2, more: false });
    assert.equal(await store.gateway.request(idOf(2)), null);
    assert.equal((await store.gateway.request(idOf(3)))?.body, null);
    const kept = await store.gateway.request(idOf(1));
    assert.deepEqual(kept, { ...changed, bookmark: "a good one", body: requestOf(1).body });
    assert.deepEqual(numbersOf(await search(store, { bookmarked: true })), [1]);
    assert.deepEqual(numbersOf(await search(store, { bookmarked: true, sourceId: "t" })), []);
    await store.gateway.bookmark({ id: idOf(1), name: null, body: null });
    assert.deepEqual(await store.gateway.forgetRequests(sweep), { changed: 1, more: false });
  });

  check(
    "old requests are deleted in steps, their bodies earlier, and recent ones stay complete",
    async (store) => {
      await store.gateway.addRequests([1, 2, 3, 4, 5].map((number) => requestOf(number)));
      const step = { before: start + 3, bodiesBefore: start + 5, limit: 1 };
      await runToEnd(async () => {
        const result = await store.gateway.forgetRequests(step);
        assert.ok(result.changed <= 2, "a row and a body");
        return result;
      });
      assert.deepEqual(numbersOf(await search(store)), [5, 4, 3]);
      const bodies = await Promise.all(
        [3, 4, 5].map(async (number) => (await store.gateway.request(idOf(number)))?.body),
      );
      assert.deepEqual(bodies, [null, null, requestOf(5).body]);
    },
  );

  check("a request is written with the event it became, and a repeat writes nothing", async (store) => {
    const relayed = { event: { idempotencyKey: "k", fingerprint: "f" }, dedupUntil: start + 1_000 };
    const [first, second] = [publishCommand(relayed), publishCommand(relayed)];
    await store.gateway.addRequests([requestOf(2, { status: 401, outcome: "rejected", cause: "too_old" })]);
    const accepted = requestOf(2, { eventId: first.event.id, body: null, bookmark: null });
    await commit(store, {
      publishes: [
        { ...first, request: accepted },
        { ...second, request: requestOf(3, { eventId: second.event.id }) },
      ],
    });
    // A request that was rejected earlier keeps its body when it is forwarded.
    assert.deepEqual(await store.gateway.request(idOf(2)), { ...accepted, body: requestOf(2).body });
    assert.equal(await store.gateway.request(idOf(3)), null);
    assert.deepEqual(numbersOf(await search(store, { outcome: "accepted" })), [2]);
    assert.deepEqual(numbersOf(await search(store, { outcome: "rejected" })), []);
  });

  check("messages held for a paused connection are found until they are sent", async (store, open) => {
    const forward = (connectionId: string, result: "held" | "stored") => ({
      connectionId,
      webhookId: "w",
      result,
      detail: null,
    });
    const commands = [1, 2, 3].map((number) => {
      const command = publishCommand();
      const forwards = [forward("c1", "held"), forward("c2", number === 2 ? "held" : "stored")];
      return Object.assign(command, { request: requestOf(number, { eventId: command.event.id, forwards }) });
    });
    await commit(store, { publishes: commands });
    const reopened = await open.reopen();
    const held = async (connectionId: string, after: string | null = null, limit = 9) =>
      (await reopened.gateway.held({ connectionId, after, limit })).map(({ requestId }) =>
        Number(requestId.slice(-2)),
      );
    assert.deepEqual(await held("c1"), [1, 2, 3]);
    assert.deepEqual(await held("c1", idOf(1), 1), [2]);
    assert.deepEqual(await held("c2"), [2]);
    assert.deepEqual((await reopened.gateway.connectionsWithHeld()).toSorted(), ["c1", "c2"]);
    const [, second] = commands;
    const expected = { connectionId: "c2", requestId: idOf(2), eventId: second?.event.id };
    assert.deepEqual(await reopened.gateway.held({ connectionId: "c2", after: null, limit: 1 }), [expected]);
    await reopened.gateway.updateRequest({
      ...requestOf(2, { eventId: second?.event.id ?? "" }),
      forwards: [forward("c1", "held"), forward("c2", "stored")],
    });
    assert.deepEqual([await held("c1"), await held("c2")], [[1, 2, 3], []]);
    // Held requests are kept regardless of their age.
    await reopened.gateway.forgetRequests({ before: start + 99, bodiesBefore: start + 99, limit: 100 });
    const sent = { result: "stored", detail: "replayed" } as const;
    await reopened.gateway.settleHeld([{ connectionId: "c1", requestId: idOf(1), ...sent }]);
    assert.deepEqual(await held("c1"), [2, 3]);
  });

  check(
    "one of many callers claims a gateway response, and repeats get it until it expires",
    async (store) => {
      const { answers } = store.gateway;
      const claim = (token: string, more: object = {}) =>
        answers.claim({ key: "ab", fingerprint: "f", token, now: start, expiresAt: start + 10, ...more });
      const kinds = (await Promise.all(["1", "2", "3"].map((token) => claim(token)))).map(({ kind }) => kind);
      assert.deepEqual(kinds.toSorted(), ["claimed", "running", "running"]);
      const holder = String(kinds.indexOf("claimed") + 1);
      assert.deepEqual(await claim("4", { fingerprint: "g" }), { kind: "mismatch" });
      await answers.release("ab", "9");
      assert.equal((await claim("4")).kind, "running");
      await answers.release("ab", holder);
      assert.equal((await claim("4")).kind, "claimed");
      const completion = {
        key: "ab",
        fingerprint: "f",
        now: start,
        expiresAt: start + 50,
        result: "done\u0001",
      };
      assert.equal(await answers.finish({ ...completion, token: "1" }), false);
      assert.equal(await answers.finish({ ...completion, token: "4" }), true);
      assert.deepEqual(await claim("5"), { kind: "completed", result: "done\u0001" });
      await answers.release("ab", "4");
      assert.equal((await claim("5", { now: start + 49 })).kind, "completed");
      assert.equal((await claim("6", { now: start + 50, expiresAt: start + 60 })).kind, "claimed");
      await answers.purge(start + 59, 10);
      assert.equal((await claim("7", { now: start + 59 })).kind, "running", "what ran out was another one");
      assert.equal((await answers.purge(start + 60, 10)).changed, 1);
      assert.equal((await claim("7", { now: start + 59 })).kind, "claimed");
    },
  );

  check(
    "a forwarded message is one commit: event, attempt, and the response for repeats",
    async (store, open) => {
      const { answers } = store.gateway;
      const claimOf = (key: string, token: string) => ({
        key,
        fingerprint: "f",
        token,
        now: start,
        expiresAt: start + 10,
      });
      const claims = [claimOf("ab", "1"), claimOf("cd", "2"), claimOf("ef", "3")] as const;
      for (const claim of claims) assert.equal((await answers.claim(claim)).kind, "claimed");
      const passed = () => {
        const progress = progressed({ state: "success", attemptCount: 1, firstAttemptAt: start });
        const attempted = [{ progress, attempt: newAttempt(), settledAt: start + 1 }];
        return { ...publishCommand({ deliveries: [{ claim: true }] }), attempted };
      };
      const keyed = { event: { idempotencyKey: "k", fingerprint: "f" }, dedupUntil: start + 1_000 };
      const nowhere = { ...keyed, deliveries: [] };
      const [first, second] = [passed(), publishCommand(nowhere)];
      const answered = { ...claims[0], expiresAt: start + 50, result: "one" };
      await commit(store, {
        publishes: [
          { ...first, answer: answered },
          // Another caller's claim stays unchanged.
          { ...second, answer: { ...answered, key: "cd", token: "9" } },
          // For a repeat of an event, no result is stored.
          { ...publishCommand(nowhere), answer: { ...answered, key: "ef", token: "3" } },
        ],
      });
      assert.deepEqual(await answers.claim(claimOf("ab", "4")), { kind: "completed", result: "one" });
      for (const key of ["cd", "ef"]) assert.equal((await answers.claim(claimOf(key, "4"))).kind, "running");
      const reopened = await open.reopen();
      const { id } = first.deliveries[0] as NewDelivery;
      const delivery = await reopened.history.getDelivery(null, id);
      assert.equal(delivery?.progress.state, "success");
      const attempts = await reopened.history.listAttempts(id);
      assert.deepEqual(attempts, [first.attempted[0]?.attempt]);
      assert.deepEqual(await reopened.deliveries.depth(), {
        waiting: { high: 0, normal: 0, low: 0 },
        deadLetters: new Map(),
      });
      assert.deepEqual(await reopened.gateway.answers.claim(claimOf("ab", "5")), {
        kind: "completed",
        result: "one",
      });
    },
  );

  check(
    "the filter of a connection keeps the digits of its numbers, even after a release ended",
    async (store, open) => {
      const filter = '{"body":{"id":9007199254740993,"rate":{"$gt":0.12345678901234567890}}}';
      const connection = {
        ...connectionOf("c", "s"),
        releasingSince: 7,
        filter: parseLossless(filter) as NonNullable<Connection["filter"]>,
      };
      await store.gateway.saveSource(sourceOf("s"));
      await store.gateway.saveConnection(connection);
      assert.equal(await store.gateway.endRelease("c", 8), null);
      assert.equal((await store.gateway.endRelease("c", 7))?.releasingSince, null);
      assert.equal(await store.gateway.endRelease("c", 7), null);
      const [stored] = await (await open.reopen()).gateway.connections();
      assert.equal(stored?.releasingSince, null);
      assert.equal(JSON.stringify(stored?.filter), filter);
    },
  );

  check("held messages are counted up to a limit", async (store) => {
    const forwards = [{ connectionId: "c", webhookId: "w", result: "held", detail: null } as const];
    const publishes = [1, 2, 3].map((number) => {
      const command = publishCommand();
      return Object.assign(command, { request: requestOf(number, { eventId: command.event.id, forwards }) });
    });
    await commit(store, { publishes });
    const counts = async (countMax: number) =>
      Object.fromEntries(await store.gateway.heldCounts({ connectionIds: ["c", "d"], countMax }));
    assert.deepEqual(await counts(10), { c: 3, d: 0 });
    assert.deepEqual(await counts(2), { c: 2, d: 0 });
  });

  check("a failed forwarded attempt is never pending, and counts as a problem", async (store, open) => {
    const progress = progressed({
      state: "cancelled",
      attemptCount: 1,
      firstAttemptAt: start,
      reason: "passed_through_server_error",
    });
    const failed = { outcome: "transient", category: "server_error", statusCode: 503 } as const;
    const attempt: AttemptRecord = { ...newAttempt(), ...failed };
    const kind = problemKind(attempt);
    assert.ok(kind !== null);
    const command = {
      ...publishCommand({ deliveries: [{ claim: true }] }),
      attempted: [{ progress, attempt, settledAt: start + 1 }],
    };
    const [delivery] = command.deliveries;
    assert.ok(delivery !== undefined);
    const { id, lane } = delivery;
    const { tenantId } = command.event;
    const { webhookId } = lane;
    const fact = {
      webhookId,
      tenantId,
      kind,
      attemptNumber: 1,
      at: start + 1,
      deliveryId: id,
      outcome: "transient",
      isDeadLetter: false,
    } as const;
    await commit(store, {
      publishes: [publishCommand(), command],
      problems: {
        failures: [],
        passedOn: [{ publish: 1, delivery: 0, fact }],
        recovering: [],
        resolved: [],
        at: start + 1,
      },
    });
    const stored = await store.history.getDelivery(null, id);
    assert.deepEqual([stored?.progress.state, stored?.progress.reason], [progress.state, progress.reason]);
    const filter = { tenantId, webhookIds: [webhookId], states: null };
    const found = await store.problems.search({ filter, now: start + 2, after: null, limit: 10 });
    if (found !== undefined && found.rows.length > 0) assert.equal(found.rows[0]?.kind.statusCode, 503);
    // A process that acquires the webhook must find nothing to send.
    const reopened = await open.reopen();
    const { waiting } = await reopened.deliveries.depth();
    assert.equal(waiting.normal, 1, "only the event that nobody sent waits");
  });

  check("an event keeps what it relays, next to events that relay nothing", async (store) => {
    const relayed = {
      key: 'bare; a="b\\"c"',
      webhookId: "msg_1",
      path: "/x?y=z",
      headers: ["X-GitHub-Event", "push"],
    };
    const commands = [null, relayed, null].map((one) => publishCommand({ event: { relayed: one } }));
    await commit(store, { publishes: commands });
    const kept = commands.map(async ({ event: { id } }) => (await store.history.getEvent(null, id))?.relayed);
    assert.deepEqual(await Promise.all(kept), [null, relayed, null]);
  });
};
