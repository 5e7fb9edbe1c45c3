import { test } from "node:test";
import { FailoverRig } from "./failover-rig.fixture.ts";
import { failovers } from "./failovers.fixture.ts";

// The short version of the tests in whole/, which have many more failovers of each kind.
test("PostgreSQL fails over to its standby under load", async (t) => {
  const rig = await FailoverRig.open(t);
  await t.test("a synchronous one: nothing is lost, and only requests in flight are repeated", (t) =>
    rig.lossless(t, failovers["the primary crashes"]),
  );
  await t.test(
    "one that lacks the last commits: nothing reaches another tenant's webhook, and nothing hangs",
    (t) => rig.lossy(t, { cutOffMs: 2_000 }),
  );
});
