import { test } from "node:test";
import { FailoverRig } from "../failover-rig.fixture.ts";
import { failovers } from "../failovers.fixture.ts";

/** Number of failovers of each kind. With six kinds, this makes 42 failovers. */
const times = Number(process.env["POSTHORN_TEST_FAILOVERS"] ?? 7);

test("failovers to a synchronous standby lose nothing", async (t) => {
  const rig = await FailoverRig.open(t);
  for (let round = 1; round <= times; round += 1) {
    for (const [kind, failover] of Object.entries(failovers))
      await t.test(`${round}: ${kind}`, (t) => rig.lossless(t, failover));
  }
});
