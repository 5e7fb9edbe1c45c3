import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { suite, test, type TestContext } from "node:test";
import { createSmtpMailer } from "../../src/system/mail/smtp-mailer.ts";
import type { ChannelInput } from "../../src/resources/notification.ts";
import { channelState } from "../../src/features/notifications/notification.ts";
import { createHealth } from "../../src/domain/endpoint-health.ts";
import { disablementAt } from "../../src/features/notifications/due.ts";
import { spokenTime } from "../../src/features/notifications/messages.ts";
import { operatorTenantId } from "../../src/features/notifications/operational-event.ts";
import type { NotificationServices } from "../../src/features/notifications/create-notifications.ts";
import { type MailServer, startMailServer } from "../peers/mail-server.ts";
import { admin, openWorld, type World } from "./world.fixture.ts";

interface Scene {
  readonly world: World;
  readonly server: MailServer;
  told: NotificationServices;
  /** Checks for failing webhooks, then sends the notifications that are due. */
  look(): Promise<void>;
  subjects(): readonly (string | undefined)[];
}

const owner: ChannelInput = {
  kind: "email",
  address: "ada@example.com",
  timeZone: "Europe/Berlin",
  topics: ["first_problem", "failing", "disabled"],
};
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

async function openScene(t: TestContext, channels: readonly ChannelInput[] = [owner]): Promise<Scene> {
  const world = await openWorld(t, { schedules: false });
  const server = await startMailServer(t);
  const scene: Scene = {
    world,
    server,
    told: tellingBy(world, server.url),
    async look() {
      await scene.told.ladder.round();
      await scene.told.sender.round();
    },
    subjects: () => server.mails.map(({ mail }) => mail.subject),
  };
  await scene.told.notifications.put(admin, "default", channels);
  await confirmAll(scene);
  return scene;
}

/** Opens the confirmation links in the emails as their readers would, then clears the emails. */
async function confirmAll({ told, server }: Pick<Scene, "told" | "server">): Promise<void> {
  await told.sender.round();
  for (const { mail } of server.mails) {
    const token = tokenIn(mail.text ?? "", "confirm");
    if (token !== null) await told.notifications.decide(token, true);
  }
  server.forget();
}

function tokenIn(text: string, purpose: "confirm" | "unsubscribe"): string | null {
  const link = new RegExp(`https://hooks\\.example\\.org/notifications/${purpose}/([^\\s>]+)`);
  return link.exec(text.replaceAll(/=\r?\n/g, ""))?.[1] ?? null;
}

function tellingBy(world: World, url: string): NotificationServices {
  const from = "Webhooks <webhooks@example.org>";
  const mailer = createSmtpMailer({ url, from, requiresTls: false });
  return world.notifications({
    mailer,
    publicUrl: "https://hooks.example.org",
    linkTemplate: "https://app.example.org/webhooks/{webhook_id}",
  });
}

/**
 * Creates a webhook whose receiver fails. Returns its id and the time of the first failure, after its state was stored.
 */
async function failing(world: World): Promise<{ readonly id: string; readonly since: number }> {
  world.statuses.set("/hook", 503);
  world.answers.set("/hook", () => ({ responseSample: Buffer.from("<script>alert('503')</script> & more") }));
  const { webhook } = await world.createWebhook({ profile: "standard", events: ["order.*"] });
  await world.publish();
  const since = await world.until(async () => {
    const rows = await world.store.notifications.failing(null, 9);
    return rows?.length === 1 && world.engine.webhook(webhook.id)?.health.failingSince;
  });
  return { id: webhook.id, since };
}

suite("owners of failing webhooks", () => {
  test("TS16-112 WDS-22 are notified by mail, step by step with the date of the end, and when it works again", async (t) => {
    const scene = await openScene(t);
    const { world, server } = scene;
    const { id, since } = await failing(world);
    const live = world.engine.webhook(id);
    assert.ok(live);
    const disabledAt = disablementAt(live.webhook, live.health, live.policy) ?? 0;
    const skipTo = (at: number) => world.skipTime(at - world.now());
    await scene.look();
    assert.deepEqual(scene.subjects(), []);

    skipTo(since + 16 * minuteMs);
    await scene.look();
    await scene.look();
    assert.deepEqual(scene.subjects(), ["Deliveries to https://example.com/hook are failing"]);

    const end = spokenTime(disabledAt, "en", "Europe/Berlin");
    skipTo((since + disabledAt) / 2 - minuteMs);
    await scene.look();
    assert.equal(scene.subjects().length, 1, "not before half of the time");
    skipTo((since + disabledAt) / 2 + minuteMs);
    await scene.look();
    assert.equal(scene.subjects().at(-1), `https://example.com/hook will be disabled on ${end}`);

    skipTo(disabledAt - 23 * hourMs);
    await scene.look();
    assert.equal(scene.subjects().at(-1), `Last day: https://example.com/hook will be disabled on ${end}`);

    await world.restart();
    scene.told = tellingBy(world, server.url);
    await scene.look();
    assert.equal(scene.subjects().length, 3, "a restart repeats nothing");

    const stopped = world.engine.webhook(id);
    assert.ok(stopped);
    const webhook = { ...stopped.webhook, status: "disabled", statusReason: "exhausted" } as const;
    await world.store.webhooks.save(webhook);
    world.engine.applyWebhook({ webhook, secrets: stopped.secrets });
    await scene.look();
    assert.equal(scene.subjects().at(-1), "https://example.com/hook was disabled");

    world.statuses.set("/hook", 200);
    await world.services.webhooks.enable(admin, id);
    await scene.look();
    assert.equal(scene.subjects().length, 4, "to switch it on proves nothing");
    await world.publish();
    await world.until(() => (world.engine.webhook(id)?.health.lastAcceptedAt ?? 0) > since);
    await world.engine.upkeepRound();
    await world.until(async () => {
      await scene.look();
      return scene.subjects().length === 5;
    });
    assert.equal(scene.subjects().at(-1), "https://example.com/hook works again");
    assert.match(server.mails.at(-1)?.mail.text ?? "", /It failed for \d+ d/);
    assert.deepEqual(await world.store.notifications.episodes(), []);
  });

  test("are notified of a recovery only after an accepted delivery", async (t) => {
    const scene = await openScene(t);
    const { world } = scene;
    const { id, since } = await failing(world);
    const channelIds = (await scene.told.notifications.list(admin, "default")).map(
      ({ channel }) => channel.id,
    );
    const episode = { webhookId: id, tenantId: "default", since, told: ["first_problem"], channelIds };
    const { notifications, deliveries } = world.store;
    await notifications.saveEpisode({ webhookId: id, episode, events: [], notifications: [] });
    const lookWith = async (lastAcceptedAt: number | null): Promise<readonly (string | undefined)[]> => {
      const health = JSON.stringify({ ...createHealth(), failingSince: null, lastAcceptedAt });
      const state = {
        webhookId: id,
        pausedUntil: null,
        pauseReason: null,
        lastSuccessAt: null,
        circuit: null,
      };
      await deliveries.commit({
        publishes: [],
        requeues: [],
        retries: [],
        settlements: [],
        webhookStates: [{ ...state, health }],
      });
      await scene.look();
      return scene.subjects();
    };
    assert.deepEqual(await lookWith(null), [], "nothing was ever accepted");
    assert.deepEqual(await lookWith(since - 1), [], "the last acceptance is older than the failure");
    assert.equal((await notifications.episodes()).length, 1);
    assert.deepEqual(await lookWith(since + 1), ["https://example.com/hook works again"]);
    assert.deepEqual(await notifications.episodes(), []);
  });

  test("read the response, as text and as HTML that it cannot alter, with a link to unsubscribe", async (t) => {
    const scene = await openScene(t, [{ ...owner, language: "de" }]);
    const { id } = await failing(scene.world);
    scene.world.skipTime(16 * minuteMs);
    await scene.look();
    const [received] = scene.server.mails;
    assert.ok(received);
    const { mail, recipients } = received;
    assert.deepEqual(recipients, ["ada@example.com"]);
    assert.equal(mail.subject, "Zustellungen an https://example.com/hook schlagen fehl");
    assert.match(mail.text ?? "", /Letzte Antwort: 503 <script>alert\('503'\)<\/script> & more/);
    const html = String(mail.html);
    assert.equal(html.includes("<script"), false);
    assert.ok(html.includes("&#60;script&#62;"));
    assert.equal(/<img|src=|url\(/i.test(html), false, "nothing is loaded from anywhere");
    assert.match(mail.text ?? "", new RegExp(`https://app.example.org/webhooks/${id}`));

    const listed = mail.headers.find(({ key }) => key === "list-unsubscribe")?.value ?? "";
    const token = /<https:\/\/hooks\.example\.org\/notifications\/unsubscribe\/([^>]+)>/.exec(
      listed.replaceAll(/\s/g, ""),
    )?.[1];
    assert.ok(
      mail.headerLines.some(({ line }) => /List-Unsubscribe-Post: List-Unsubscribe=One-Click/i.test(line)),
    );
    const { notifications } = scene.told;
    assert.equal(await notifications.decide(`${token}x`, false), null);
    assert.equal((await notifications.decide(token ?? "", false))?.address, "ada@example.com");
    const [stored] = await notifications.list(admin, "default");
    assert.notEqual(stored?.consent?.unsubscribedAt ?? null, null);
    await scene.world.services.webhooks.circuit(admin, { id, action: "force_open" });
    scene.world.skipTime(30 * 24 * hourMs);
    await scene.look();
    assert.equal(scene.server.mails.length, 1, "nothing more comes");
  });
});

suite("mail", () => {
  test("waits while the server is unreachable, and is sent once, whichever process sends", async (t) => {
    const scene = await openScene(t);
    const { world } = scene;
    await failing(world);
    world.skipTime(16 * minuteMs);
    const away = tellingBy(world, "smtp://127.0.0.1:1");
    await away.ladder.round();
    await away.sender.round();
    const waiting = async () => (await scene.told.notifications.sent(admin, everything)).rows[0];
    assert.equal((await waiting())?.state, "waiting");
    assert.match((await waiting())?.error ?? "", /ECONNREFUSED/);
    const [stored] = await scene.told.notifications.list(admin, "default");
    assert.match(stored?.status.lastError ?? "", /ECONNREFUSED/);
    await scene.told.sender.round();
    assert.deepEqual(scene.subjects(), [], "not at once");
    world.skipTime(2 * minuteMs);
    const second = tellingBy(world, scene.server.url);
    await Promise.all([scene.told.sender.round(), second.sender.round(), scene.told.sender.round()]);
    assert.equal(scene.subjects().length, 1);
    assert.deepEqual([(await waiting())?.state, (await waiting())?.attempts], ["sent", 2]);
  });

  test("to a server that never answers delays no delivery and no other channel, and is retried", async (t) => {
    const scene = await openScene(t, [
      owner,
      { kind: "slack", url: "https://hooks.slack.example.com/slack", topics: ["first_problem"] },
    ]);
    const { world } = scene;
    await failing(world);
    const hangs = createServer((socket) => socket.on("error", () => socket.destroy()).resume());
    await new Promise<void>((resolve) => hangs.listen(0, "127.0.0.1", resolve));
    t.after(() => hangs.close());
    const connected = new Promise<Socket>((resolve) => hangs.once("connection", resolve));
    const stuck = tellingBy(world, `smtp://127.0.0.1:${(hangs.address() as AddressInfo).port}`);
    world.skipTime(16 * minuteMs);
    await stuck.ladder.round();
    const sending = stuck.sender.round();
    const socket = await connected;
    world.statuses.set("/other", 200);
    await world.createWebhook({ url: "https://example.com/other", events: ["other.*"] });
    for (let count = 0; count < 50; count += 1) await world.publish({ eventType: "other.made" });
    await world.until(() => world.requests.filter(({ path }) => path === "/other").length === 50);
    await world.until(() => world.requests.some(({ path }) => path === "/slack"));
    const { rows } = await scene.told.notifications.sent(admin, everything);
    assert.deepEqual(
      rows
        .filter(({ topic }) => topic !== "confirmation")
        .map(({ state, error }) => `${state} ${error ?? ""}`)
        .toSorted(),
      ["handed_over ", "waiting "],
      "the mail is still being sent",
    );
    socket.destroy();
    await sending;
    const [stored] = await scene.told.notifications.list(admin, "default");
    assert.ok(stored?.status.lastError !== null && stored?.status.refusedAt === null);
    world.skipTime(2 * minuteMs);
    await scene.told.sender.round();
    assert.deepEqual(scene.subjects(), ["Deliveries to https://example.com/hook are failing"]);
  });

  test("says whom to notify of bounces, and which channel it was for", async (t) => {
    const scene = await openScene(t);
    const [channel] = await scene.told.notifications.list(admin, "default");
    const id = channel?.channel.id ?? "";
    const from = "Webhooks <webhooks@example.org>";
    for (const bouncesTo of [null, "bounces@example.org"]) {
      const mailer = createSmtpMailer({ url: scene.server.url, from, bouncesTo, requiresTls: false });
      const told = scene.world.notifications({ mailer });
      await told.notifications.test(admin, "default", id);
      await told.sender.round();
    }
    const { mails } = scene.server;
    assert.deepEqual(
      mails.map(({ sender, mail }) => [
        sender,
        mail.from,
        mail.headers.find(({ key }) => key === "x-posthorn-channel")?.value,
      ]),
      [
        ["webhooks@example.org", { name: "Webhooks", address: "webhooks@example.org" }, id],
        ["bounces@example.org", { name: "Webhooks", address: "webhooks@example.org" }, id],
      ],
    );
  });

  test("to a rejected address ends, is shown, and starts again with a test", async (t) => {
    const scene = await openScene(t);
    const { server, told } = scene;
    server.refused.add("ada@example.com");
    const [channel] = await told.notifications.list(admin, "default");
    const id = channel?.channel.id ?? "";
    await told.notifications.test(admin, "default", id);
    await told.sender.round();
    const [refused] = await told.notifications.list(admin, "default");
    assert.notEqual(refused?.status.refusedAt, null);
    assert.match(refused?.status.lastError ?? "", /no such user/);
    server.refused.clear();
    await told.notifications.test(admin, "default", id);
    await told.sender.round();
    assert.deepEqual(scene.subjects(), ["A test of this channel"]);
    const [again] = await told.notifications.list(admin, "default");
    assert.equal(again?.status.refusedAt, null);
  });

  test("that is collected is sent as one, and not in quiet hours", async (t) => {
    const scene = await openScene(t, [{ ...owner, topics: ["paused"], frequency: "hourly" }]);
    const { world, told } = scene;
    const { webhook } = await world.createWebhook();
    await world.services.webhooks.pause(admin, { id: webhook.id });
    await world.services.webhooks.resume(admin, webhook.id);
    const queued = async () =>
      (await told.notifications.sent(admin, everything)).rows.filter(({ topic }) => topic === "paused")
        .length;
    await world.until(async () => (await queued()) === 2);
    await told.sender.round();
    assert.deepEqual(scene.subjects(), []);
    world.skipTime(hourMs);
    await told.sender.round();
    assert.deepEqual(scene.subjects(), ["2 messages about webhooks"]);
  });
});

suite("recipients without consent", () => {
  const addresses = (count: number, host = "example.com"): readonly ChannelInput[] =>
    Array.from({ length: count }, (_, index) => ({
      kind: "email" as const,
      address: `stranger${index}@${host}`,
      topics: ["paused"] as const,
    }));
  const confirmSubject = "Confirm that you want messages about webhooks";

  test("get one mail that asks them to confirm and no other, and it does not delay the operator's alert", async (t) => {
    const scene = await openScene(t, []);
    const { world, told, server } = scene;
    const alertTo: ChannelInput = { kind: "email", address: "ops@example.org", topics: ["alert", "paused"] };
    await told.notifications.put(admin, null, [alertTo]);
    const { webhook } = await world.createWebhook();
    await told.notifications.put(admin, "default", addresses(20));
    for (let round = 0; round < 40; round += 1) {
      await world.services.webhooks.pause(admin, { id: webhook.id });
      await world.services.webhooks.resume(admin, webhook.id);
    }
    const added = await told.notifications.put(admin, "default", addresses(20));
    for (const { channel } of added)
      await assert.rejects(told.notifications.test(admin, "default", channel.id), {
        code: "conflict",
        message: /not confirmed/,
      });
    await told.desk.enqueue([
      {
        key: "alert:late",
        tenantId: null,
        topic: "alert",
        group: "alert:late",
        content: () => ({
          subject: "Deliveries are late",
          text: "x",
          facts: [],
          severity: "critical",
          link: null,
          resolves: false,
        }),
      },
    ]);
    await told.sender.round();
    assert.equal(scene.subjects()[0], "Deliveries are late");
    const toStrangers = () => server.mails.filter(({ recipients }) => /^stranger/i.test(recipients[0] ?? ""));
    assert.deepEqual(
      toStrangers().map(({ mail }) => mail.subject),
      Array<string>(20).fill(confirmSubject),
    );
    assert.equal(new Set(toStrangers().map(({ recipients }) => recipients[0])).size, 20);

    await told.notifications.put(admin, "default", []);
    const spelled = addresses(20, "EXAMPLE.com");
    await told.notifications.put(admin, "default", spelled);
    await world.services.webhooks.pause(admin, { id: webhook.id });
    world.skipTime(24 * hourMs);
    await told.sender.round();
    assert.equal(toStrangers().length, 20, "adding an address again sends nothing");
    const [stored] = await told.notifications.list(admin, "default");
    assert.equal(stored && channelState(stored, world.now()), "unconfirmed");

    for (const from of [20, 40])
      await told.notifications.put(admin, "default", addresses(from + 20).slice(from));
    await assert.rejects(told.notifications.put(admin, "default", addresses(80).slice(60)), {
      code: "rate_limited",
    });
  });

  test("who unsubscribed get nothing until they subscribe again with their own link", async (t) => {
    const scene = await openScene(t, [{ ...owner, topics: ["paused"] }]);
    const { world, told, server } = scene;
    const put = (channels: readonly ChannelInput[]) => told.notifications.put(admin, "default", channels);
    const [first] = await told.notifications.list(admin, "default");
    await told.notifications.test(admin, "default", first?.channel.id ?? "");
    await told.sender.round();
    const token = tokenIn(server.mails[0]?.mail.text ?? "", "unsubscribe") ?? "";
    await told.notifications.decide(token, false);
    server.forget();
    const refused = { code: "conflict", message: /Only the owner can resubscribe/ };
    await assert.rejects(told.notifications.test(admin, "default", first?.channel.id ?? ""), refused);
    await put([]);
    const [again] = await put([{ ...owner, address: "Ada@EXAMPLE.com", topics: ["paused"] }]);
    const id = again?.channel.id ?? "";
    assert.notEqual(id, first?.channel.id);
    await assert.rejects(told.notifications.test(admin, "default", id), refused);
    const { webhook } = await world.createWebhook();
    await world.services.webhooks.pause(admin, { id: webhook.id });
    await world.until(async () => (await world.store.notifications.pendingEvents(9)).length === 0);
    await told.sender.round();
    assert.deepEqual(scene.subjects(), []);
    await told.notifications.decide(token, true);
    await told.notifications.test(admin, "default", id);
    await told.sender.round();
    assert.deepEqual(scene.subjects(), ["A test of this channel"]);
  });

  test("with too many messages in a channel get the rest as one mail, at the next full hour", async (t) => {
    const scene = await openScene(t, [{ ...owner, topics: ["paused"] }]);
    const { world, told } = scene;
    const { webhook } = await world.createWebhook();
    for (let round = 0; round < 11; round += 1) {
      // Time advances between the events, because events in the same millisecond would share a key.
      world.skipTime(10);
      await world.services.webhooks.pause(admin, { id: webhook.id });
      world.skipTime(10);
      await world.services.webhooks.resume(admin, webhook.id);
    }
    const waiting = async () =>
      (await told.notifications.sent(admin, { ...everything, state: "waiting" })).rows.length;
    await world.until(async () => (await waiting()) === 22);
    await told.sender.round();
    assert.equal(scene.subjects().length, 10);
    const [limited] = await told.notifications.list(admin, "default");
    assert.equal(limited && channelState(limited, world.now()), "limited");
    world.skipTime(hourMs);
    await told.sender.round();
    assert.deepEqual(scene.subjects().slice(10), ["12 notifications in the last hour"]);
    assert.equal(await waiting(), 0);
  });

  test("of several tenants take turns, and tests have a limit", async (t) => {
    const scene = await openScene(t, []);
    const { world, told, server } = scene;
    const idOf = async (tenant: string, address: string): Promise<string> => {
      await world.services.tenants.put(admin, { id: tenant, input: {} });
      const [saved] = await told.notifications.put(admin, tenant, [{ kind: "email", address } as const]);
      return saved?.channel.id ?? "";
    };
    const [mine, other] = [await idOf("default", "a@example.com"), await idOf("other", "b@example.com")];
    await confirmAll(scene);
    const sendTest = (tenant: string, id: string) => told.notifications.test(admin, tenant, id);
    for (let count = 0; count < 10; count += 1) await sendTest("default", mine);
    await assert.rejects(sendTest("default", mine), { code: "rate_limited" });
    for (let count = 0; count < 2; count += 1) await sendTest("other", other);
    await told.sender.round();
    const order = server.mails.map(({ recipients }) => recipients[0]);
    assert.equal(order.length, 12);
    assert.equal(order.slice(0, 4).filter((address) => address === "b@example.com").length, 2);
  });
});

suite("chat", () => {
  const slack: ChannelInput = {
    kind: "slack",
    url: "https://hooks.slack.example.com/slack/secret",
    topics: ["circuit", "paused"],
  };
  const pager: ChannelInput = {
    kind: "pagerduty",
    integrationKey: "R0UT1NGK3Y",
    topics: ["circuit"],
  };

  test("WDS-146 WDS-148 owner and operator are notified of a circuit, along the path of every delivery", async (t) => {
    const scene = await openScene(t, [slack]);
    const { world, told } = scene;
    await told.notifications.put(admin, null, [pager]);
    const { webhook } = await world.createWebhook();
    await world.services.webhooks.circuit(admin, { id: webhook.id, action: "force_open" });
    await world.services.webhooks.circuit(admin, { id: webhook.id, action: "reset" });
    const bodies = (path: string) =>
      world.requests
        .filter((request) => request.path === path)
        .map(({ body }) => JSON.parse(Buffer.from(body).toString()) as Readonly<Record<string, unknown>>);
    await world.until(async () => {
      await told.sender.round();
      return bodies("/slack/secret").length === 2 && bodies("/v2/enqueue").length === 2;
    });
    assert.deepEqual(
      bodies("/slack/secret")
        .map(({ text }) => String(text))
        .toSorted(),
      [
        "The circuit of https://example.com/hook is closed again",
        "The circuit of https://example.com/hook is open",
      ],
    );
    const calls = bodies("/v2/enqueue");
    assert.deepEqual(calls.map((call) => String(call["event_action"])).toSorted(), ["resolve", "trigger"]);
    assert.equal(new Set(calls.map((call) => call["dedup_key"])).size, 1);
    assert.ok(calls.every((call) => call["routing_key"] === "R0UT1NGK3Y"));
    const { rows } = await told.notifications.sent(admin, everything);
    const ends = rows.map(({ state, eventId }) => `${state} ${eventId === null ? "" : "as an event"}`);
    assert.deepEqual(ends.toSorted(), [
      ...Array(2).fill("handed_over as an event"),
      ...Array(2).fill("sent "),
    ]);
  });

  test("a channel of some webhooks gets only notifications about these, and none of another tenant", async (t) => {
    const scene = await openScene(t, []);
    const { world, told } = scene;
    const [one, other] = [await world.createWebhook(), await world.createWebhook()];
    const put = (webhookIds: readonly string[] | null) =>
      told.notifications.put(admin, "default", [
        { ...slack, webhookIds },
        { ...slack, name: "all" },
      ]);
    const [some, all] = await put([one.webhook.id]);
    for (const { webhook } of [one, other])
      await world.services.webhooks.pause(admin, { id: webhook.id, reason: "x" });
    const rows = await world.until(async () => {
      const page = await told.notifications.sent(admin, everything);
      return page.rows.length === 3 && page.rows;
    });
    const toldOf = (saved: typeof some) =>
      rows.filter(({ channelId }) => channelId === saved?.channel.id).map(({ group }) => group);
    assert.deepEqual(toldOf(some), [`paused:${one.webhook.id}`]);
    assert.equal(toldOf(all).length, 2);

    await world.services.tenants.put(admin, { id: "b", input: {} });
    const foreign = await world.createWebhook({ tenantId: "b" });
    await assert.rejects(put([foreign.webhook.id]), { code: "invalid_request" });
    await world.services.webhooks.delete(admin, one.webhook.id);
    const kept = { ...slack, id: some?.channel.id ?? "", webhookIds: [one.webhook.id] };
    await told.notifications.put(admin, "default", [kept]);
  });

  test("the key of a pager is in no stored message, and a permanently rejected message is not retried", async (t) => {
    const scene = await openScene(t, []);
    const { world, told } = scene;
    const [channel] = await told.notifications.put(admin, null, [pager]);
    assert.equal(channel?.channel.webhookId, null);
    const test = async () => {
      const sent = await told.notifications.test(admin, null, channel?.channel.id ?? "");
      await told.sender.round();
      const { rows } = await told.notifications.sent(admin, everything);
      return rows.find(({ id }) => id === sent.notificationId);
    };
    assert.equal((await test())?.state, "sent");
    world.statuses.set("/v2/enqueue", 503);
    const waiting = await test();
    assert.deepEqual([waiting?.state, waiting?.error], ["waiting", "PagerDuty responded with 503"]);
    world.statuses.set("/v2/enqueue", 400);
    const refused = await test();
    assert.deepEqual([refused?.state, refused?.error], ["failed", "PagerDuty responded with 400"]);
    const page = { limit: 50, offset: 0, after: null };
    const { rows } = await world.services.events.list(admin, { page });
    assert.deepEqual(rows, [], "nothing of it is an event");
    assert.equal(world.log.join().includes("R0UT1NGK3Y"), false);
  });

  test("a message that cannot be composed delays no other one and is retried", async (t) => {
    const world = await openWorld(t, { schedules: false });
    const server = await startMailServer(t);
    const mailer = createSmtpMailer({ url: server.url, from: "a@example.org", requiresTls: false });
    let isBroken = true;
    const footer = {
      replaceAll(): string {
        if (isBroken) throw new TypeError("cannot read properties of undefined");
        return "footer";
      },
    } as unknown as string;
    const told = world.notifications({
      mailer,
      publicUrl: "https://hooks.example.org",
      overrides: { de: { "footer.why": footer } },
    });
    const channels: ChannelInput[] = [
      { ...owner, address: "ada@example.com", language: "de" },
      { ...owner, address: "bob@example.com", language: "en" },
    ];
    const [german, english] = await told.notifications.put(admin, "default", channels);
    await confirmAll({ told, server });
    for (const saved of [german, english])
      await told.notifications.test(admin, "default", saved?.channel.id ?? "");
    await told.sender.round();
    const addressees = () => server.mails.flatMap(({ recipients }) => recipients);
    assert.deepEqual(addressees(), ["bob@example.com"]);
    const { rows } = await told.notifications.sent(admin, { ...everything, owner: "default" });
    const waiting = rows.find(({ channelId }) => channelId === german?.channel.id);
    assert.deepEqual(
      [waiting?.state, waiting?.error],
      ["waiting", "the message could not be composed; this is a bug in Posthorn"],
    );
    isBroken = false;
    world.skipTime(2 * hourMs);
    await told.sender.round();
    assert.deepEqual(addressees(), ["bob@example.com", "ada@example.com"]);
  });

  test("a channel with a custom URL shows its secret once, and the secret can be replaced", async (t) => {
    const scene = await openScene(t, []);
    const { told, world } = scene;
    const url = "https://hooks.example.com/told";
    const put = (channels: readonly ChannelInput[]) => told.notifications.put(admin, "default", channels);
    const [made] = await put([{ kind: "webhook", url }, slack]);
    assert.match(made?.secret ?? "", /^whsec_/);
    const id = made?.channel.id ?? "";
    const kept = await put([{ id, kind: "webhook" }, slack]);
    assert.deepEqual(
      kept.map(({ secret }) => secret),
      [null, null],
    );
    const rotate = (of: { readonly tenantId: string | null }, channelId: string) =>
      told.notifications.rotateSecret(of, { owner: "default", id: channelId });
    const rotated = await rotate({ tenantId: "default" }, id);
    assert.equal(rotated.previous?.secret, made?.secret);
    await told.notifications.test(admin, "default", id);
    const request = await world.until(async () => {
      await told.sender.round();
      return world.requests.find(({ path }) => path === "/told");
    });
    const signatures = request.headers[request.headers.indexOf("Webhook-Signature") + 1] ?? "";
    assert.equal(
      signatures.split(" ").filter((one) => one.startsWith("v1,")).length,
      2,
      "both are used for a while",
    );
    const carried = kept.find(({ channel }) => channel.kind === "slack")?.channel.id ?? "";
    await assert.rejects(rotate(admin, carried), { code: "not_found" });
    await assert.rejects(rotate({ tenantId: "other" }, id), { code: "not_found" });
  });

  test("a failing channel is not reported through itself, and is deleted with its webhook", async (t) => {
    const scene = await openScene(t, []);
    const { world, told } = scene;
    const [first, second] = await told.notifications.put(admin, null, [
      slack,
      { ...slack, url: "https://hooks.slack.example.com/other" },
    ]);
    const carrier = first?.channel.webhookId ?? "";
    assert.equal(world.engine.webhook(carrier)?.webhook.tenantId, operatorTenantId);
    await world.services.webhooks.circuit(admin, { id: carrier, action: "force_open" });
    const rows = await world.until(async () => {
      const page = await told.notifications.sent(admin, everything);
      return page.rows.length > 0 && page.rows;
    });
    assert.deepEqual(new Set(rows.map(({ channelId }) => channelId)), new Set([second?.channel.id]));
    await told.notifications.put(admin, null, []);
    assert.equal(world.engine.webhook(carrier), undefined);
  });

  test("invalid settings are rejected as a whole, and secrets are never shown", async (t) => {
    const scene = await openScene(t, []);
    const { told, world } = scene;
    const put = (channels: readonly ChannelInput[]) => told.notifications.put(admin, "default", channels);
    const before = [...world.engine.webhooks()].length;
    await assert.rejects(put([slack, { ...slack, url: "https://127.0.0.1/x" }]), { code: "invalid_request" });
    await assert.rejects(put([{ ...owner, timeZone: "Mars/Base" }]), { code: "invalid_request" });
    await assert.rejects(put([{ kind: "slack" }]), { code: "invalid_request" });
    const forbidden = [
      "\0",
      "\u0001",
      "\r\n",
      "\u007f",
      "\u0085",
      "\u00ad",
      "\u200b",
      "\u2028",
      "\u202e",
      "\ufeff",
    ];
    for (const character of [...forbidden, "(c)", "\\", "[", ","])
      for (const address of [
        `a${character}da@example.com`,
        `ada@exa${character}mple.com`,
        `ada@example.com${character}`,
      ])
        await assert.rejects(
          put([{ ...owner, address }]),
          { code: "invalid_request" },
          JSON.stringify(address),
        );
    await assert.rejects(put([{ ...slack, id: "019cb2e0-75b9-7c07-9bb6-6d92b2e5a1f3" }]), {
      code: "invalid_request",
    });
    assert.equal([...world.engine.webhooks()].length, before, "nothing of it was made");
    const shown = JSON.stringify(await put([slack, pager]));
    assert.equal(/secret|R0UT1NGK3Y/.test(shown.replaceAll(/secret_rotated|"secret":null/g, "")), false);
    await assert.rejects(told.notifications.list({ tenantId: "default" }, null), { code: "not_found" });
    await assert.rejects(told.notifications.list({ tenantId: "other" }, "default"), { code: "not_found" });
    assert.deepEqual((await told.notifications.sent({ tenantId: "other" }, everything)).rows, []);
  });
});

const everything = {
  owner: undefined,
  channelId: null,
  state: null,
  page: { limit: 50, before: null, offset: 0 },
} as const;
