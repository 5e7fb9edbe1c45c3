import { test } from "node:test";
import { FailoverRig } from "../failover-rig.fixture.ts";

const times = Number(process.env["POSTHORN_TEST_FAILOVERS"] ?? 10);

test(`${times} failovers to a standby that lacks the last seconds`, async (t) => {
  const rig = await FailoverRig.open(t);
  for (let round = 1; round <= times; round += 1)
    await t.test(`round ${round}`, (t) => rig.lossy(t, { cutOffMs: 2_000 + 500 * (round % 5) }));
});
