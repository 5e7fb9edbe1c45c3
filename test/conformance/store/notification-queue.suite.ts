import assert from "node:assert/strict";
import { freshStatus, type NotificationChannel } from "../../../src/features/notifications/notification.ts";
import type { OperationalEvent } from "../../../src/features/notifications/operational-event.ts";
import type { FailureEpisode, NewNotification } from "../../../src/ports/store/notifications.ts";
import { createHealth } from "../../../src/domain/endpoint-health.ts";
import { firstPage, hour, idsOf, minute, newId, newWebhook, start } from "./scene.fixture.ts";
import type { StoreTheme } from "./store.suite.ts";

function event(fields: Partial<OperationalEvent> = {}): OperationalEvent {
  return {
    key: newId(),
    type: "posthorn.webhook.updated",
    tenantId: "a",
    webhookId: "w1",
    at: start,
    data: { webhook_id: "w1" },
    ...fields,
  };
}

function channel(fields: Partial<NotificationChannel> = {}): NotificationChannel {
  return {
    id: newId(),
    tenantId: "a",
    kind: "email",
    name: "Ada",
    address: "ada@example.com",
    webhookId: null,
    sealedKey: null,
    topics: ["failing"],
    frequency: "immediate",
    timeZone: "UTC",
    quietHours: null,
    webhookIds: null,
    language: "en",
    enabled: true,
    createdAt: start,
    updatedAt: start,
    ...fields,
  };
}

function notification(fields: Partial<NewNotification> = {}): NewNotification {
  return {
    id: newId(),
    key: newId(),
    channelId: "c1",
    tenantId: "a",
    topic: "failing",
    group: "w1",
    content: { subject: "s", text: "t\0", facts: [], severity: "info", link: null, resolves: false },
    createdAt: start,
    dueAt: start,
    ...fields,
  };
}

const lease = {
  now: start,
  leaseUntil: start + minute,
  leaseOwner: "one",
  limit: 10,
  channels: { ids: [], isRest: true },
};
const keysOf = (rows: readonly { readonly key: string }[]): readonly string[] => rows.map(({ key }) => key);

const operationalEvents: StoreTheme = (check) => {
  check(
    "operational events wait until they are relayed, oldest first, even across a restart",
    async (store, open) => {
      const [first, second, third] = [event(), event(), event()];
      await store.notifications.appendEvents([first]);
      await store.notifications.appendEvents([second]);
      const webhook = newWebhook();
      await store.webhooks.save(webhook, { events: [third] });
      assert.deepEqual(await store.notifications.pendingEvents(2), [first, second]);
      await store.notifications.relayed({ keys: [first.key], at: start, notifications: [] });
      const reopened = (await open.reopen()).notifications;
      assert.deepEqual(await reopened.pendingEvents(9), [second, third]);
    },
  );

  check("an event with a stored key is not stored again, even once it is relayed", async (store) => {
    const told = event();
    const notifications = store.notifications;
    await notifications.appendEvents([told, { ...told, at: start + 1 }]);
    await notifications.relayed({ keys: [told.key], at: start, notifications: [] });
    await notifications.appendEvents([told]);
    assert.deepEqual(await notifications.pendingEvents(9), []);
    assert.deepEqual(await notifications.forget(start + 1, 9), {
      changed: 1,
      more: false,
    });
    await notifications.appendEvents([told]);
    assert.deepEqual(await notifications.pendingEvents(9), [told]);
  });

  check("a commit writes events, even without anything else", async (store) => {
    const [alone, deleted] = [event(), event()];
    await store.deliveries.commit({
      publishes: [],
      requeues: [],
      retries: [],
      settlements: [],
      webhookStates: [],
      operationalEvents: [alone],
    });
    const webhook = newWebhook();
    await store.webhooks.save(webhook);
    await store.webhooks.delete(webhook.id, start, { events: [deleted] });
    assert.deepEqual(await store.notifications.pendingEvents(9), [alone, deleted]);
  });

  check("messages about events are queued as they are relayed", async (store) => {
    const notifications = store.notifications;
    const [told, message] = [event(), notification()];
    await notifications.appendEvents([told]);
    await notifications.relayed({ keys: [told.key], at: start, notifications: [message] });
    assert.deepEqual(keysOf(await notifications.claim(lease)), [message.key]);
  });
};

const queue: StoreTheme = (check) => {
  check("a message with a key is sent to a channel once", async (store) => {
    const notifications = store.notifications;
    const first = notification();
    await notifications.enqueue([first, notification({ key: first.key })]);
    await notifications.enqueue([
      notification({ key: first.key }),
      notification({ key: first.key, channelId: "c2" }),
    ]);
    const claimed = await notifications.claim(lease);
    assert.deepEqual(claimed.map(({ channelId }) => channelId).toSorted(), ["c1", "c2"]);
    const kept = claimed.find(({ channelId }) => channelId === "c1");
    const waiting = { state: "waiting", attempts: 0, endedAt: null, error: null, eventId: null };
    const text = kept?.content.text ?? "";
    assert.deepEqual(kept, { ...first, ...waiting, content: { ...first.content, text } });
  });

  check("a leased message is not leased again until the lease ends", async (store) => {
    const notifications = store.notifications;
    const [first, second, later] = [
      notification(),
      notification({ dueAt: start - 1 }),
      notification({ dueAt: start + hour }),
    ];
    await notifications.enqueue([first, second, later]);
    assert.deepEqual(keysOf(await notifications.claim({ ...lease, limit: 1 })), [second.key]);
    assert.deepEqual(keysOf(await notifications.claim({ ...lease, leaseOwner: "two" })), [first.key]);
    assert.deepEqual(await notifications.claim({ ...lease, leaseOwner: "three" }), []);
    const after = { ...lease, now: start + minute, leaseUntil: start + 2 * minute, leaseOwner: "three" };
    assert.deepEqual(keysOf(await notifications.claim(after)), [second.key, first.key]);
    assert.deepEqual(await notifications.waiting(), { count: 3, oldestDueAt: start - 1 });
  });

  check("messages of some channels are leased without those of others", async (store) => {
    const notifications = store.notifications;
    const [mail, chat, gone] = [
      notification(),
      notification({ channelId: "c2" }),
      notification({ channelId: "c3" }),
    ];
    await notifications.enqueue([mail, chat, gone]);
    const of = (ids: readonly string[], isRest: boolean) =>
      notifications.claim({ ...lease, channels: { ids, isRest } });
    assert.deepEqual(await of([], false), []);
    assert.deepEqual(keysOf(await of(["c2"], false)), [chat.key]);
    assert.deepEqual(keysOf(await of(["c1", "c2"], true)), [gone.key]);
    assert.deepEqual(keysOf(await of([], true)), [mail.key]);
  });

  check("only the lease owner settles, and ended messages stay ended", async (store, open) => {
    const notifications = store.notifications;
    const [sent, again] = [notification(), notification()];
    await notifications.enqueue([sent, again]);
    await notifications.claim(lease);
    const outcome = { attempts: 1, dueAt: start, at: start + 5, error: null, eventId: null };
    await notifications.settle([{ ...outcome, id: sent.id, state: "failed" }], "two");
    await notifications.settle(
      [
        { ...outcome, id: sent.id, state: "sent", eventId: "e" },
        { ...outcome, id: again.id, state: "waiting", dueAt: start + minute, error: "away" },
      ],
      "one",
    );
    const reopened = (await open.reopen()).notifications;
    assert.deepEqual(await reopened.claim({ ...lease, now: start + minute - 1 }), []);
    const [retried] = await reopened.claim({ ...lease, now: start + minute, leaseUntil: start + hour });
    assert.deepEqual([retried?.key, retried?.attempts, retried?.error], [again.key, 1, "away"]);
    const { rows } = await reopened.list({ ...everything, state: "sent" });
    assert.deepEqual([rows[0]?.id, rows[0]?.endedAt, rows[0]?.eventId], [sent.id, start + 5, "e"]);
  });

  check("lists messages of an owner, newest first and page after page", async (store) => {
    const notifications = store.notifications;
    const [own, other, global] = [
      notification(),
      notification({ tenantId: "b" }),
      notification({ tenantId: null }),
    ];
    await notifications.enqueue([own]);
    await notifications.enqueue([other]);
    await notifications.enqueue([global]);
    const listed = async (tenantId: string | null | undefined) =>
      idsOf((await notifications.list({ ...everything, tenantId })).rows);
    assert.deepEqual(await listed("a"), [own.id]);
    assert.deepEqual(await listed(null), [global.id]);
    assert.deepEqual(await listed(undefined), [global.id, other.id, own.id]);
    const first = await notifications.list({ ...everything, page: { ...firstPage, limit: 2 } });
    assert.notEqual(first.next, null);
    const rest = await notifications.list({ ...everything, page: { ...firstPage, before: first.next } });
    assert.deepEqual(idsOf([...first.rows, ...rest.rows]), [global.id, other.id, own.id]);
    assert.deepEqual((await notifications.list({ ...everything, channelId: "c9" })).rows, []);
  });

  check("ended messages are deleted after a while, and waiting ones are not", async (store) => {
    const notifications = store.notifications;
    const [sent, waits] = [notification(), notification()];
    await notifications.enqueue([sent, waits]);
    await notifications.claim(lease);
    const outcome = { attempts: 1, dueAt: start, at: start, error: null, eventId: null };
    await notifications.settle([{ ...outcome, id: sent.id, state: "sent" }], "one");
    assert.equal((await notifications.forget(start + 1, 9)).changed, 1);
    assert.deepEqual(idsOf((await notifications.list(everything)).rows), [waits.id]);
  });
};

const everything = { tenantId: undefined, channelId: null, state: null, page: firstPage };

const channels: StoreTheme = (check) => {
  check("channels of an owner are replaced as a whole, and keep their status", async (store, open) => {
    const notifications = store.notifications;
    const [first, second, global] = [channel(), channel(), channel({ tenantId: null })];
    await notifications.saveChannels({ tenantId: "a", channels: [first, second] });
    await notifications.saveChannels({ tenantId: null, channels: [global] });
    const status = { ...freshStatus, refusedAt: start, lastError: "550" };
    await notifications.saveStatus(second.id, status);
    const renamed = { ...second, name: "Grace" };
    const third = channel();
    await notifications.saveChannels({ tenantId: "a", channels: [third, renamed] });
    const reopened = (await open.reopen()).notifications;
    const all = await reopened.channels();
    const of = (tenantId: string | null) => all.filter((stored) => stored.channel.tenantId === tenantId);
    assert.deepEqual(of("a"), [
      { channel: third, status: freshStatus, consent: null },
      { channel: renamed, status, consent: null },
    ]);
    assert.deepEqual(of(null), [{ channel: global, status: freshStatus, consent: null }]);
  });

  check("a channel of one owner cannot be saved by another", async (store) => {
    const notifications = store.notifications;
    const own = channel();
    await notifications.saveChannels({ tenantId: "a", channels: [own] });
    await notifications.saveChannels({
      tenantId: "b",
      channels: [{ ...own, tenantId: "b", address: "eve@example.com" }],
    });
    assert.deepEqual(
      (await notifications.channels()).map((stored) => stored.channel),
      [own],
    );
  });
};

const consents: StoreTheme = (check) => {
  check("a reader's decision belongs to an owner and an address, not to a channel", async (store, open) => {
    const notifications = store.notifications;
    const row = { id: newId(), address: "ada@example.com", createdAt: start };
    await notifications.rememberAddresses("a", [row, { ...row, id: newId(), address: "eve@example.com" }]);
    await notifications.rememberAddresses("a", [{ ...row, id: newId(), createdAt: start + hour }]);
    await notifications.rememberAddresses(null, [{ ...row, id: newId() }]);
    assert.deepEqual(await notifications.unconfirmed("a", start), { all: 2, recent: 2 });
    assert.deepEqual(await notifications.unconfirmed("a", start + 1), { all: 2, recent: 0 });
    await notifications.confirmationSent(row.id, start + 1);
    await notifications.saveConsent(row.id, start + 2, true);
    await notifications.saveConsent(row.id, start + 3, false);
    const stopped = {
      id: row.id,
      confirmationSentAt: start + 1,
      confirmedAt: start + 2,
      unsubscribedAt: start + 3,
    };
    const own = channel({ address: "Ada@Example.com" });
    await notifications.saveChannels({ tenantId: "a", channels: [own] });
    await notifications.saveChannels({ tenantId: "a", channels: [] });
    const again = channel({ address: "ada@EXAMPLE.com" });
    const foreign = channel({ tenantId: "b", address: "ada@example.com" });
    await notifications.saveChannels({ tenantId: "a", channels: [again] });
    await notifications.saveChannels({ tenantId: "b", channels: [foreign] });
    const reopened = (await open.reopen()).notifications;
    const all = await reopened.channels();
    const consentOf = (id: string) => all.find((stored) => stored.channel.id === id)?.consent;
    assert.deepEqual([consentOf(again.id), consentOf(foreign.id)], [stopped, null]);
    assert.deepEqual(await reopened.address(row.id), {
      tenantId: "a",
      address: "ada@example.com",
      consent: stopped,
    });
    await reopened.saveConsent(row.id, start + 4, true);
    const wanted = { ...stopped, unsubscribedAt: null };
    const asked = ["ada@example.com", "new@example.com"];
    assert.deepEqual([...(await reopened.consents("a", asked))], [["ada@example.com", wanted]]);
    assert.deepEqual(await reopened.unconfirmed("a", start), { all: 1, recent: 1 });
    assert.equal(await reopened.address(newId()), null);
  });

  check("messages are counted by subject and hour, and counters are deleted", async (store) => {
    const notifications = store.notifications;
    const [one, two] = [
      { subject: "channel:c1", since: start },
      { subject: "tenant:a", since: start },
    ];
    assert.equal(await notifications.count(one), 1);
    const sent = notification();
    await notifications.enqueue([sent]);
    await notifications.claim(lease);
    const outcome = { attempts: 1, dueAt: start, at: start + hour, error: null, eventId: null };
    await notifications.settle([{ ...outcome, id: sent.id, state: "sent" }], "one", [two, one]);
    const later = { ...one, since: start + hour };
    assert.deepEqual(await notifications.counts([one, two, later]), [2, 1, 0]);
    assert.equal((await notifications.forget(start + 1, 9)).changed, 2);
    assert.deepEqual(await notifications.counts([one, two]), [0, 0]);
  });

  check("the operator's messages, and those of the next tenant, are leased in turns", async (store) => {
    const notifications = store.notifications;
    const [mine, alert, first, second, other] = [
      notification({ tenantId: null }),
      notification({ tenantId: null, topic: "alert", dueAt: start }),
      notification({ tenantId: "a", dueAt: start - 2 }),
      notification({ tenantId: "a", dueAt: start - 1 }),
      notification({ tenantId: "b" }),
    ];
    await notifications.enqueue([mine, alert, second, first, other]);
    const next = async (turn: "operator" | { readonly after: string }) =>
      keysOf(await notifications.claim({ ...lease, limit: 1, turn }));
    assert.deepEqual(await next("operator"), [alert.key]);
    assert.deepEqual(await next("operator"), [mine.key]);
    assert.deepEqual(await next("operator"), []);
    assert.deepEqual(await next({ after: "" }), [first.key]);
    assert.deepEqual(await next({ after: "a" }), [other.key]);
    assert.deepEqual(await next({ after: "b" }), []);
    assert.deepEqual(await next({ after: "" }), [second.key]);
  });
};

const episodes: StoreTheme = (check) => {
  check("an episode is written with its notification", async (store, open) => {
    const [told, message] = [event(), notification()];
    const episode: FailureEpisode = {
      webhookId: "w1",
      tenantId: "a",
      since: start,
      told: ["first_problem"],
      channelIds: ["c1"],
    };
    await store.notifications.saveEpisode({
      webhookId: "w1",
      episode,
      events: [told],
      notifications: [message],
    });
    const more = { ...episode, told: ["first_problem", "half_time"] };
    await store.notifications.saveEpisode({
      webhookId: "w1",
      episode: more,
      events: [told],
      notifications: [message],
    });
    const reopened = (await open.reopen()).notifications;
    assert.deepEqual(await reopened.episodes(), [more]);
    assert.deepEqual(await reopened.pendingEvents(9), [told]);
    assert.deepEqual(keysOf(await reopened.claim(lease)), [message.key]);
    await reopened.saveEpisode({ webhookId: "w1", episode: null, events: [], notifications: [] });
    assert.deepEqual(await reopened.episodes(), []);
  });

  check("finds the webhooks that failed last, page after page", async (store) => {
    const notifications = store.notifications;
    const state = (webhookId: string, failingSince: number | null) => ({
      webhookId,
      pausedUntil: null,
      pauseReason: null,
      lastSuccessAt: null,
      circuit: null,
      health: JSON.stringify({ ...createHealth(), failingSince }),
    });
    await store.deliveries.commit({
      publishes: [],
      requeues: [],
      retries: [],
      settlements: [],
      webhookStates: [
        state("w1", start),
        state("w2", null),
        state("w3", start),
        { ...state("w4", null), health: null },
      ],
    });
    const ids = (rows: readonly { readonly webhookId: string }[]) => rows.map(({ webhookId }) => webhookId);
    assert.deepEqual(ids(await notifications.failing(null, 1)), ["w1"]);
    assert.deepEqual(ids(await notifications.failing("w1", 9)), ["w3"]);
    await store.deliveries.commit({
      publishes: [],
      requeues: [],
      retries: [],
      settlements: [],
      webhookStates: [state("w1", null)],
    });
    assert.deepEqual(ids(await notifications.failing(null, 9)), ["w3"]);
  });
};

/** Operational events and notifications. */
export const notifications: StoreTheme = (check) => {
  for (const theme of [operationalEvents, queue, channels, consents, episodes]) theme(check);
};
