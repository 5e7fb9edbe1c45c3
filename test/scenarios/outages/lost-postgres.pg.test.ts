import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../eventually.fixture.ts";
import { askWhile } from "./api-manners.fixture.ts";
import { Rig } from "./rig.fixture.ts";
import { webhookNames } from "./webhooks.fixture.ts";

const awayMs = 30_000;
/** A worker counts as dead 15 s after its last heartbeat. Other workers check for work about once a second. */
const takeoverMsMax = 25_000;
/** Maximum time after the database returns until everything runs again. */
const returnMsMax = 20_000;
/** Applies while each statement is delayed by a tenth of a second. */
const lateMsMax = 6_000;
/** Maximum number of requests that all workers had sent but not committed when the connection was lost. */
const inFlightMax = 200;

test("PostgreSQL outages under load", async (t) => {
  const rig = await Rig.open(t, { apis: 2 });
  const { apis } = rig.deployment;
  const { server: postgres, way } = rig.deployment.postgres;

  await t.test("a graceful restart", async (t) => {
    await rig.during(t, {
      happens: () => postgres.restart("fast"),
      standstillMsMax: returnMsMax,
      duplicatesMax: inFlightMax,
    });
  });

  await t.test("a crash, with recovery from the log", async (t) => {
    await rig.during(t, {
      happens: () => postgres.restart("immediate"),
      standstillMsMax: returnMsMax,
      duplicatesMax: inFlightMax,
    });
  });

  await t.test("a crash while requests wait for their responses: none is sent again", async (t) => {
    await rig.during(t, {
      happens: async () => {
        const [name = ""] = webhookNames;
        const owner = await rig.busyOwnerOf(name);
        const before = owner.worker;
        await postgres.restart("immediate");
        await eventually("the worker joins again", {
          ask: async () => owner.worker,
          holds: (worker) => worker !== null && worker !== before,
          withinMs: returnMsMax,
        });
        // Other workers check every second for webhooks without an owner.
        await sleep(3_000);
        t.diagnostic(`${rig.receiver.release()} answers were withheld`);
      },
      standstillMsMax: returnMsMax,
      duplicatesMax: 0,
    });
  });

  await t.test(
    "WDS-204 an outage of 30 s: the API reports it at once, and recovers automatically",
    async (t) => {
      const [api] = apis;
      assert.ok(api?.url);
      const { url } = api;
      await rig.during(t, {
        happens: async () => {
          await postgres.stop();
          const answers = await askWhile(sleep(awayMs), { url, isSilent: false });
          await postgres.start();
          t.diagnostic(answers.summary);
          assert.deepEqual(answers.problems, []);
          await eventually("the API is ready again", {
            ask: () => fetch(`${url}/readyz`).then(({ status }) => status),
            holds: (status) => status === 200,
            withinMs: returnMsMax,
          });
        },
        standstillMsMax: awayMs + returnMsMax,
        duplicatesMax: inFlightMax,
      });
    },
  );

  await t.test("the network between one worker and PostgreSQL is cut for 5 s", async (t) => {
    await rig.during(t, {
      happens: async () => {
        await way.cut();
        await sleep(5_000);
        await way.restore();
      },
      standstillMsMax: takeoverMsMax,
      duplicatesMax: inFlightMax,
    });
  });

  await t.test(
    "packets between a worker, an API and PostgreSQL are withheld for 20 s, then arrive",
    async (t) => {
      const farUrl = apis[1]?.url;
      assert.ok(farUrl);
      await rig.during(t, {
        happens: async () => {
          way.stall();
          const answers = await askWhile(sleep(20_000), { url: farUrl, isSilent: true });
          await way.restore();
          t.diagnostic(answers.summary);
          assert.deepEqual(answers.problems, []);
        },
        standstillMsMax: takeoverMsMax,
        duplicatesMax: inFlightMax,
      });
    },
  );

  await t.test(
    "packets between one worker and PostgreSQL are delayed: its webhooks are slower, but served",
    async (t) => {
      await rig.during(t, {
        happens: async () => {
          way.delay(50);
          await sleep(6_000);
          await way.restore();
        },
        standstillMsMax: lateMsMax,
        duplicatesMax: 0,
      });
    },
  );
});
