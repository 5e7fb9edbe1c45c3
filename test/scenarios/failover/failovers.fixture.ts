import { setTimeout as sleep } from "node:timers/promises";
import type { PostgresPair } from "../../services/postgres-pair.fixture.ts";
import type { Failover } from "./failover-rig.fixture.ts";

async function promoteAndMove(pair: PostgresPair): Promise<void> {
  await pair.promote();
  pair.moveAddress();
}

/** The ways in which a primary can be lost. In all of them, the standby has received everything. */
export const failovers = {
  "the primary crashes": async (pair) => {
    await pair.primary.stop("immediate");
    await promoteAndMove(pair);
  },
  "the primary is stopped": async (pair) => {
    await pair.primary.stop("fast");
    await promoteAndMove(pair);
  },
  "there is no primary for 10 s": async (pair) => {
    await pair.primary.stop("immediate");
    await sleep(10_000);
    await promoteAndMove(pair);
  },
  "packets to the primary are dropped": async (pair) => {
    pair.address.stall();
    await promoteAndMove(pair);
  },
  "the old primary survives behind open connections": async (pair) => {
    const old = pair.primary;
    await promoteAndMove(pair);
    await sleep(15_000);
    await old.stop("immediate");
  },
  "the primary crashes while commits are slow": async (pair) => {
    await pair.primary.query("ALTER SYSTEM SET commit_delay = 10000");
    await pair.primary.query("ALTER SYSTEM SET commit_siblings = 0");
    await pair.primary.query("SELECT pg_reload_conf()");
    await sleep(1_000);
    await pair.primary.stop("immediate");
    await promoteAndMove(pair);
  },
} as const satisfies Readonly<Record<string, Failover>>;
