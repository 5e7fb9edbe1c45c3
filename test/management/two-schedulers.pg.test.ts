/** Two servers that share one PostgreSQL database, both as schedulers. Each event is reported once, by one of them. */
import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { createSmtpMailer } from "../../src/system/mail/smtp-mailer.ts";
import { openPostgresStore } from "../../src/store/postgres/open.ts";
import type { NotificationServices } from "../../src/features/notifications/create-notifications.ts";
import { createTestDatabase } from "../conformance/store/postgres-database.fixture.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";
import { startMailServer } from "../peers/mail-server.ts";
import { counted, look, minute, stateOf } from "./alert-scene.fixture.ts";
import { admin, newWorldKeys, openWorld, type World } from "./world.fixture.ts";

const database = await createTestDatabase();
after(() => database.drop());
const keys = newWorldKeys();

interface Server {
  readonly world: World;
  readonly told: NotificationServices;
}

async function openServer(t: TestContext, mailUrl: string): Promise<Server> {
  const masterKeyIds = { current: "test", previous: [] };
  const world = await openWorld(t, {
    keys,
    schedules: true,
    openStore: (now) => openPostgresStore({ url: database.url, now, masterKeyIds }),
  });
  const mailer = createSmtpMailer({
    url: mailUrl,
    from: "Posthorn <posthorn@example.org>",
    requiresTls: false,
  });
  return { world, told: world.notifications({ mailer, publicUrl: "https://hooks.example.org" }) };
}

test("alerts and messages to owners are sent once, even when one server takes over from the other", async (t) => {
  const mails = await startMailServer(t);
  const servers = [await openServer(t, mails.url), await openServer(t, mails.url)] as const;
  const [{ world, told }, second] = servers;
  const subjects = () => mails.mails.map(({ mail }) => mail.subject ?? "").toSorted();
  /** Runs all periodic tasks of both servers, concurrently and several times. */
  const rounds = async (of: readonly Server[]) => {
    for (let round = 0; round < 3; round += 1)
      await Promise.all(
        of.flatMap((server) => [
          server.world.services.lifecycle.lookAtAlerts(),
          server.told.ladder.round(),
          server.told.sender.round(),
          server.told.sender.round(),
        ]),
      );
  };
  await told.notifications.put(admin, null, [
    { kind: "email", address: "ops@example.org", topics: ["alert"] },
  ]);
  await told.notifications.put(admin, "default", [
    { kind: "email", address: "ada@example.org", topics: ["first_problem"] },
  ]);
  const [consent] = (await world.store.notifications.consents("default", ["ada@example.org"])).values();
  await world.store.notifications.saveConsent(consent?.id ?? "", world.now(), true);
  for (const each of servers) each.world.statuses.set("/hook", 503);
  const { webhook } = await world.createWebhook({ circuitBreaker: { enabled: false } });
  await world.publish();
  await eventually("the failure to be stored", {
    ask: async () => (await world.store.notifications.failing(null, 9)).length,
    holds: (count) => count === 1,
  });
  await world.services.webhooks.circuit(admin, {
    id: webhook.id,
    action: "force_open",
    durationSeconds: 7_200,
  });
  await counted(world);
  for (const each of servers) each.world.skipTime(16 * minute);
  await eventually("both to be told", {
    async ask() {
      await rounds(servers);
      return subjects();
    },
    holds: (all) => all.length >= 2,
  });
  const expected = ["Alert: Circuit opened", "Deliveries to https://example.com/hook are failing"];
  await rounds(servers);
  assert.deepEqual(subjects(), expected);

  await world.close();
  await counted(second.world);
  second.world.skipTime(10 * minute);
  await rounds([second]);
  assert.deepEqual(subjects(), expected, "whoever takes over repeats nothing");
  assert.equal(await stateOf(second.world, "circuit-opened"), "firing");

  await eventually("the webhook to be served by the other", {
    async ask() {
      await second.world.services.webhooks.circuit(admin, { id: webhook.id, action: "reset" });
      return second.world.engine.webhook(webhook.id)?.circuit.phase;
    },
    holds: (phase) => phase === "closed",
  });
  await eventually("the end to be told", {
    async ask() {
      second.world.skipTime(2 * minute);
      await look(second.world);
      await rounds([second]);
      return subjects();
    },
    holds: (all) => all.length >= 3,
  });
  assert.deepEqual(subjects(), [...expected, "Resolved: Circuit opened"].toSorted());
});
