// PostgreSQL crashes 50 times under load. A ledger records the accepted events.
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { PostgresServer } from "../../services/postgres-server.fixture.ts";
import { SeededRandom } from "../../simulation/seeded-random.ts";
import { eventually } from "../eventually.fixture.ts";
import { Rig } from "../outages/rig.fixture.ts";

const rounds = 5;
const crashesEach = 10;
const betweenMsMax = 3_000;
const backMsMax = 60_000;

/** Kills one of the server's processes. The server then ends all sessions and recovers. */
async function killBackend(server: PostgresServer): Promise<void> {
  const [row] = await server.query(
    `SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'posthorn %'
     ORDER BY state = 'active' DESC, xact_start DESC NULLS LAST LIMIT 1`,
  );
  const pid = Number(row?.["pid"] ?? 0);
  if (pid > 0) process.kill(pid, "SIGKILL");
  await eventually("the server answers again", {
    ask: () =>
      server.query("SELECT pg_is_in_recovery()").then(
        () => true,
        () => false,
      ),
    holds: Boolean,
    withinMs: backMsMax,
  });
}

test("nothing accepted is lost when PostgreSQL crashes under load", async (t) => {
  const seed = randomBytes(4).toString("hex");
  t.diagnostic(`seed ${seed}`);
  const random = new SeededRandom(seed);
  // Delays the durability of commits, so that more of them are in flight during a crash.
  const rig = await Rig.open(t, {
    apis: 2,
    schedulers: 1,
    workers: 2,
    eventsPerSecond: 60,
    postgres: { commit_delay: "10000", commit_siblings: "0" },
  });
  const { server } = rig.deployment.postgres;
  for (let round = 0; round < rounds; round += 1) {
    await t.test(`crashes ${round * crashesEach + 1} to ${(round + 1) * crashesEach}`, async (t) => {
      const crashes = async (): Promise<void> => {
        for (let crash = 0; crash < crashesEach; crash += 1) {
          await sleep(500 + random.uniform() * betweenMsMax);
          if (random.chance(0.5)) await server.restart("immediate");
          else await killBackend(server);
        }
      };
      await rig.during(t, { happens: crashes, standstillMsMax: 300_000, duplicatesMax: 500 * crashesEach });
    });
  }
});
