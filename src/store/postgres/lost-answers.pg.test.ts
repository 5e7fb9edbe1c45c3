import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createTestDatabase } from "../../../test/conformance/store/postgres-database.fixture.ts";
import {
  claim,
  claimedIds,
  commit,
  idsOf,
  lane,
  newAttempt,
  only,
  progressed,
  publish,
  settlement,
  start,
} from "../../../test/conformance/store/scene.fixture.ts";
import { startTransactionPooler } from "../../../test/conformance/store/transaction-pooler.fixture.ts";
import { eventually } from "../../../test/scenarios/eventually.fixture.ts";
import { CuttingProxy } from "../../../test/services/cutting-proxy.fixture.ts";
import type { Store } from "../../ports/store.ts";
import { openPostgresStore } from "./open.ts";

const masterKeyIds = { current: "key", previous: [] };
const written = { kind: "written" };
const unavailable = { name: "StoreUnavailableError" };

interface Scene {
  readonly store: Store;
  /** Runs a call that takes effect in the database, but whose response is lost with the connection. */
  losingAnswer(call: () => Promise<unknown>, effect: string): Promise<void>;
}

async function openScene(t: TestContext): Promise<Scene> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const database = await createTestDatabase();
  stack.defer(() => database.drop());
  const proxy = await CuttingProxy.to(Number(new URL(database.url).port || 5432));
  stack.defer(() => proxy.close());
  const store = await openPostgresStore({
    url: proxy.addressOf(database.url),
    now: start,
    masterKeyIds,
    // One of these connections serves the event path.
    connectionsMax: 3,
  });
  stack.defer(() => store.close());
  const losingAnswer: Scene["losingAnswer"] = async (call, effect) => {
    proxy.loseAnswers();
    const refused = assert.rejects(call(), unavailable);
    await eventually(effect, {
      ask: () => database.query(`SELECT (${effect}) AS holds`),
      holds: ([row]) => row?.["holds"] === true,
    });
    await proxy.cut();
    await refused;
    await proxy.restore();
  };
  return { store, losingAnswer };
}

test("WDS-204 a settlement whose answer was lost counts as written when it is retried", async (t) => {
  const { store, losingAnswer } = await openScene(t);
  const { leases, deliveries } = await publish(store, { deliveries: [{ claim: true }, { claim: true }] });
  const [success, failure] = leases.map((lease, index) =>
    settlement(lease, {
      attempt: newAttempt(),
      ...(index === 0 ? {} : { progress: progressed({ state: "failed" }) }),
    }),
  );
  assert.ok(success !== undefined && failure !== undefined);
  const settlements = [success, failure];
  await losingAnswer(() => commit(store, { settlements }), "(SELECT count(*) FROM posthorn.attempts) = 2");
  assert.deepEqual((await commit(store, { settlements })).settled, [written, written]);
  for (const { id } of deliveries) assert.equal((await store.history.listAttempts(id)).length, 1);
  // A different attempt under the same lease is not mistaken for the stored one.
  const other = settlement(only(leases.slice(0, 1)), { attempt: newAttempt() });
  assert.deepEqual((await commit(store, { settlements: [other] })).settled, [{ kind: "lost" }]);
});

test("WDS-204 deliveries of a claim whose answer was lost are claimed again", async (t) => {
  const { store, losingAnswer } = await openScene(t);
  const key = lane("webhook-1");
  const { deliveries } = await publish(store, { deliveries: [1, 2, 3].map(() => ({ lane: key })) });
  const leased = "EXISTS (SELECT FROM posthorn.queue WHERE owner IS NOT NULL)";
  // Claims twice, so that the session has prepared the claim statement and sends a claim as one message.
  const empty = lane("webhook-2");
  await publish(store, { deliveries: [{ lane: empty, state: "skipped" }] });
  for (let count = 0; count < 2; count += 1) await claim(store, empty, { limit: 1 });
  await losingAnswer(() => claim(store, key, { limit: 1 }), leased);
  assert.deepEqual(claimedIds(await claim(store, key, { now: start + 5 })), idsOf(deliveries));
});

test("WDS-199 in an ordered lane, later deliveries do not overtake those of a claim whose answer was lost", async (t) => {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const database = await createTestDatabase();
  stack.defer(() => database.drop());
  const pooler = await startTransactionPooler(database.url);
  stack.defer(() => pooler.close());
  const store = await openPostgresStore({ url: pooler.url, now: start, masterKeyIds });
  stack.defer(() => store.close());
  const key = lane("webhook-1", "strict");
  const { deliveries } = await publish(store, { deliveries: [1, 2, 3].map(() => ({ lane: key })) });
  pooler.cutNextCommit("after");
  await assert.rejects(claim(store, key, { limit: 1 }), unavailable);
  assert.deepEqual(claimedIds(await claim(store, key, { now: start + 5 })), idsOf(deliveries));
});
