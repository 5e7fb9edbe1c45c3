import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../../../test/conformance/store/postgres-database.fixture.ts";
import {
  commit,
  lane,
  only,
  publishCommand,
  settlement,
  start,
} from "../../../../test/conformance/store/scene.fixture.ts";
import type { Priority } from "../../../domain/delivery.ts";
import type { Lease } from "../../../ports/store/deliveries.ts";
import type { Store } from "../../../ports/store.ts";
import { openPostgresStore } from "../open.ts";

/** One more than the number of shards, so that two processes share a shard. */
const processes = 17;
const rounds = 40;
const priorities: readonly Priority[] = ["high", "normal", "low"];

test("commits that begin and end deliveries of all priorities never deadlock", async (t) => {
  const database = await createTestDatabase();
  const opened: Store[] = [];
  t.after(async () => {
    await Promise.all(opened.map((store) => store.close()));
    await database.drop();
  });
  const masterKeyIds = { current: "key", previous: [] };
  for (let count = 0; count < processes; count += 1)
    opened.push(await openPostgresStore({ url: database.url, now: start, masterKeyIds, connectionsMax: 1 }));
  const [first] = opened;
  assert.ok(first !== undefined);

  await Promise.all(
    opened.map(async (store, process) => {
      let leases: readonly Lease[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const priority = priorities[(process + round) % priorities.length] ?? "normal";
        const fields = { lane: lane(`webhook-${process}`), priority, claim: true };
        const command = publishCommand({
          event: { tenantId: `tenant-${process}` },
          deliveries: [fields, { ...fields, priority: "normal" }],
        });
        const settlements = leases.map((lease) => settlement(lease));
        const result = only((await commit(store, { publishes: [command], settlements })).publishes);
        leases = result.kind === "accepted" ? result.leases : [];
      }
    }),
  );

  const { waiting } = await first.deliveries.depth();
  assert.equal(waiting.high + waiting.normal + waiting.low, processes * 2);
  await Promise.all(opened.map((store) => store.close()));
  const [seen] = await database.query(
    "SELECT deadlocks::int AS deadlocks FROM pg_stat_database WHERE datname = current_database()",
  );
  assert.equal(seen?.["deadlocks"], 0);
});
