import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../eventually.fixture.ts";
import type { PosthornServer } from "./posthorn-server.fixture.ts";
import { Rig } from "./rig.fixture.ts";

/** A worker counts as dead 15 s after its last heartbeat. Other workers check for work about once a second. */
const takeoverMsMax = 25_000;
/** Maximum time until another worker acquires a released webhook, on a busy machine. */
const handoverMsMax = 10_000;
/** Another process can acquire leadership 15 s after the last heartbeat of the leader. */
const leadershipMsMax = 30_000;
/** Maximum number of requests that one worker had sent but not committed when it disappeared. */
const inFlightMax = 60;

test("a deployment under load loses processes", async (t) => {
  const rig = await Rig.open(t, { distributed: true });
  const { apis, schedulers, workers } = rig.deployment;

  await t.test("WDS-216 WDS-217 a worker is killed: others serve its webhooks", async (t) => {
    let killed: PosthornServer | undefined;
    await rig.during(t, {
      happens: async () => {
        killed = await rig.busyOwnerOf("w2_strict");
        await killed.kill();
        rig.receiver.release();
      },
      standstillMsMax: takeoverMsMax,
      duplicatesMax: inFlightMax,
    });
    await killed?.start();
  });

  await t.test(
    "a worker is paused for longer than its lifetime: it settles nothing afterwards",
    async (t) => {
      await rig.during(t, {
        happens: async () => {
          const paused = await rig.busyOwnerOf("w2_strict");
          const before = paused.worker;
          paused.pause();
          // When the worker resumes, the response has already arrived. It reports success for a delivery that another
          // worker has sent since then.
          const answers = rig.receiver.release();
          assert.ok(answers > 0);
          await sleep(pauseMs);
          paused.resume();
          await eventually("the paused worker finds out", {
            ask: async () => paused.output,
            holds: (output) =>
              /other workers serve its webhooks now/.test(output) && /the lease was lost/.test(output),
          });
          await eventually("it is a worker under another number", {
            ask: async () => paused.worker,
            holds: (worker) => worker !== before,
          });
        },
        standstillMsMax: takeoverMsMax,
        duplicatesMax: inFlightMax,
      });
    },
  );

  await t.test("two schedulers are killed, one after the other: lost work is always found", async (t) => {
    const { server } = rig.deployment.postgres;
    const reannouncer = async () =>
      (
        await server.query(
          "SELECT owner, until > clock_timestamp() AS lives FROM posthorn.leadership WHERE name = 'sweep'",
        )
      )[0];
    const before = (await reannouncer())?.["owner"];
    assert.ok(before !== undefined);
    await rig.during(t, {
      happens: async () => {
        for (const scheduler of schedulers) {
          await scheduler.kill();
          await scheduler.start();
        }
        await eventually("another scheduler has the leadership", {
          ask: reannouncer,
          holds: (row) => row?.["lives"] === true && row["owner"] !== before,
          withinMs: leadershipMsMax,
        });
      },
      standstillMsMax: handoverMsMax,
      duplicatesMax: 0,
    });
  });

  assert.ok([...apis, ...schedulers, ...workers].every(({ isRunning }) => isRunning));
});

const pauseMs = 20_000;
