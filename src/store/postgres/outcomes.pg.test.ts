/**
 * If the outcome of a transaction is in doubt, the call either returns the correct result or reports that the outcome
 * is unknown.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import {
  claim,
  claimedIds,
  commit,
  idsOf,
  lane,
  newAttempt,
  newDelivery,
  only,
  publish,
  publishCommand,
  settlement,
  start,
} from "../../../test/conformance/store/scene.fixture.ts";
import { eventually } from "../../../test/scenarios/eventually.fixture.ts";
import { CuttingProxy } from "../../../test/services/cutting-proxy.fixture.ts";
import { PostgresServer } from "../../../test/services/postgres-server.fixture.ts";
import type { Store } from "../../ports/store.ts";
import { openPostgresStore } from "./open.ts";

const masterKeyIds = { current: "key", previous: [] };
const written = { kind: "written" };
const unknown = { name: "StoreUnavailableError", outcome: "unknown" };

/** A dedicated server, and a store that connects to it through a network that the test can interrupt. */
class World {
  readonly server: PostgresServer;
  readonly proxy: CuttingProxy;
  readonly store: Store;

  private constructor(parts: Pick<World, "server" | "proxy" | "store">) {
    this.server = parts.server;
    this.proxy = parts.proxy;
    this.store = parts.store;
  }

  static async open(
    stack: AsyncDisposableStack,
    settings: { readonly server?: Record<string, string>; readonly statementTimeoutMs?: number },
  ): Promise<World> {
    const server = await PostgresServer.start(settings.server);
    stack.defer(() => server.remove());
    const proxy = await CuttingProxy.to(server.port);
    stack.defer(() => proxy.close());
    const store = await openPostgresStore({
      url: proxy.addressOf(server.url),
      now: start,
      masterKeyIds,
      connectionsMax: 16,
      ...(settings.statementTimeoutMs === undefined
        ? {}
        : { statementTimeoutMs: settings.statementTimeoutMs }),
    });
    stack.defer(() => store.close());
    return new World({ server, proxy, store });
  }
}

/**
 * All calls are in flight when the server crashes. None of them was durable, and their transaction numbers are reused.
 */
suite("a transaction whose number is reused after a crash", () => {
  const stack = new AsyncDisposableStack();
  const refusals = new Map<string, unknown>();
  // The calls use separate priorities, so that none waits for another call's counter.
  const publishing = publishCommand({
    event: { tenantId: "p", priority: "high" },
    deliveries: [{ lane: lane("webhook-p") }],
  });
  const again = newDelivery({ lane: lane("webhook-r"), priority: "low" });
  const lanes = [lane("webhook-none"), lane("webhook-strict", "strict")] as const;
  let store: Store;
  let scene: Awaited<ReturnType<typeof prepare>>;

  async function prepare() {
    const sent = await publish(store, { deliveries: [{ claim: true }, { claim: true }] });
    const waiting = await publish(store, {
      deliveries: lanes.flatMap((key) => [{ lane: key }, { lane: key }]),
    });
    const settlements = sent.leases.map((lease) => settlement(lease, { attempt: newAttempt() }));
    // Stores the strings in advance, so that the calls below need no other statements.
    await publish(store, { event: { tenantId: "p" }, deliveries: [{ lane: lane("webhook-p") }] });
    await publish(store, { event: { tenantId: "s" }, deliveries: [{ lane: lane("webhook-r") }] });
    const requeues = [{ eventId: sent.event.id, deliveries: [again] }];
    return { sent, waiting, settlements, requeues };
  }

  before(async () => {
    // Uncommitted data is not flushed to disk, so the crash loses it together with its transaction number.
    const settings = { wal_writer_delay: "10s", autovacuum: "off" };
    const world = await World.open(stack, { server: settings });
    const { server, proxy } = world;
    store = world.store;
    scene = await prepare();
    const { settlements, requeues } = scene;
    const [first, second] = settlements;
    assert.ok(first !== undefined && second !== undefined);
    const other = publishCommand({ event: { tenantId: "s" }, deliveries: [{ lane: lane("webhook-r") }] });
    const calls: readonly (readonly [name: string, message: string, call: () => Promise<unknown>])[] = [
      ["publish", "COMMIT", () => commit(store, { publishes: [publishing] })],
      ["requeue", "COMMIT", () => commit(store, { requeues })],
      ["settlement", "posthorn.attempts", () => commit(store, { settlements: [first] })],
      [
        "settlement with others",
        "COMMIT",
        () => commit(store, { publishes: [other], settlements: [second] }),
      ],
      ["claim", "posthorn.queue", () => claim(store, lanes[0])],
      ["ordered claim", "COMMIT", () => claim(store, lanes[1])],
    ];
    await server.query("CHECKPOINT");
    const ends: Promise<unknown>[] = [];
    for (const [name, message, call] of calls) {
      const stranded = proxy.strandAt(message);
      ends.push(
        call().then(
          () => refusals.set(name, null),
          (error: unknown) => refusals.set(name, error),
        ),
      );
      await stranded;
    }
    const [last] = await server.query(
      "SELECT max(backend_xid::text::bigint)::int AS xid FROM pg_stat_activity WHERE backend_xid IS NOT NULL",
    );
    await server.restart("immediate");
    const [next] = await server.query("SELECT pg_current_xact_id()::text::int AS xid");
    assert.ok(Number(next?.["xid"]) <= Number(last?.["xid"]), "no number is handed out again");
    for (let count = 0; count < 20; count += 1) await server.query("SELECT pg_current_xact_id()");
    await proxy.cut();
    await proxy.restore();
    await Promise.all(ends);
  });

  after(() => stack.disposeAsync());

  function assertUnknown(...names: readonly string[]): void {
    for (const name of names) {
      const { name: error, outcome } = refusals.get(name) as {
        readonly name?: string;
        readonly outcome?: string;
      };
      assert.deepEqual({ name: error, outcome }, unknown);
    }
  }

  test("a publish is not mistaken for written, and can be repeated", async () => {
    assertUnknown("publish");
    const { id } = publishing.event;
    assert.equal(await store.history.getEvent(null, id), null);
    assert.equal(only((await commit(store, { publishes: [publishing] })).publishes).kind, "accepted");
  });

  test("a requeue is not mistaken for written, and can be repeated", async () => {
    assertUnknown("requeue");
    const { requeues } = scene;
    assert.equal(await store.history.getDelivery(null, again.id), null);
    assert.equal(only((await commit(store, { requeues })).requeues).kind, "accepted");
  });

  test("settlements are not mistaken for written, and are written when they are retried", async () => {
    assertUnknown("settlement", "settlement with others");
    const { sent, settlements } = scene;
    for (const { id } of sent.deliveries) assert.deepEqual(await store.history.listAttempts(id), []);
    assert.deepEqual((await commit(store, { settlements })).settled, [written, written]);
    for (const { id } of sent.deliveries) assert.equal((await store.history.listAttempts(id)).length, 1);
  });

  test("deliveries that a claim did not get are claimed again", async () => {
    assertUnknown("claim", "ordered claim");
    const ids = idsOf(scene.waiting.deliveries);
    assert.deepEqual(claimedIds(await claim(store, lanes[0])), ids.slice(0, 2));
    assert.deepEqual(claimedIds(await claim(store, lanes[1])), ids.slice(2));
  });
});

suite("a written commit whose answer is lost", () => {
  const stack = new AsyncDisposableStack();
  let world: World;

  before(async () => {
    world = await World.open(stack, { statementTimeoutMs: 1_000 });
  });

  after(() => stack.disposeAsync());

  /** Commits that wait for a standby server. */
  const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'";

  test("one that its standby lacks does not count as durable, even if the wait is cancelled", async () => {
    const { server, store } = world;
    await publish(store);
    await server.loseStandby();
    for (const end of ["pg_cancel_backend", "pg_terminate_backend"]) {
      const refused = assert.rejects(commit(store, { publishes: [publishCommand()] }), unknown);
      await eventually("it waits", {
        ask: () => server.query(`SELECT ${end}(pid) ${waiting} AND application_name = 'posthorn'`),
        holds: (rows) => rows.length > 0,
      });
      await refused;
    }
    await server.needNoStandby();
    await eventually("publishing works again", {
      ask: () =>
        publish(store).then(
          () => true,
          () => false,
        ),
      holds: Boolean,
    });
  });

  test("is found, where it was written, over another connection", async () => {
    const { proxy, store } = world;
    const command = publishCommand();
    const stranded = proxy.strandAt("COMMIT", { isHeard: true });
    const result = await commit(store, { publishes: [command] });
    await stranded;
    assert.equal(only(result.publishes).kind, "accepted");
    assert.notEqual(await store.history.getEvent(null, command.event.id), null);
  });

  test("WDS-199 in an ordered lane, later deliveries do not overtake those that it leased", async () => {
    const { proxy, store } = world;
    const key = lane("webhook-l", "strict");
    const leased = { lane: key, claim: true, leaseUntil: start + 300_000 };
    await publish(store, { deliveries: [{ lane: lane("webhook-m", "strict"), claim: true }] });
    const lost = publishCommand({ deliveries: [leased] });
    const stranded = proxy.strandAt("COMMIT", { isHeard: true });
    const refused = assert.rejects(commit(store, { publishes: [lost] }), unknown);
    await stranded;
    await proxy.cut();
    await refused;
    await proxy.restore();
    const { leases, deliveries } = await publish(store, { deliveries: [leased] });
    assert.equal(only(leases).leaseToken, 0);
    assert.deepEqual(claimedIds(await claim(store, key)), idsOf([...lost.deliveries, ...deliveries]));
  });
});
