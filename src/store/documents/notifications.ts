import {
  type AddressConsent,
  type ChannelStatus,
  foldedAddress,
  freshStatus,
  isUrgent,
  type NotificationChannel,
  type NotificationState,
} from "../../features/notifications/notification.ts";
import type { OperationalEvent } from "../../features/notifications/operational-event.ts";
import type { Page } from "../../ports/store.ts";
import type { AuditEntry } from "../../ports/store/audit.ts";
import type {
  AddressOwner,
  FailingRow,
  FailureEpisode,
  NewAddress,
  NewNotification,
  NotificationClaim,
  NotificationCounter,
  NotificationOutcome,
  NotificationQuery,
  NotificationQueue,
  RelayedEvents,
  SaveChannels,
  SaveEpisode,
  StoredAddress,
  StoredChannel,
  StoredNotification,
} from "../../ports/store/notifications.ts";
import type { StepResult } from "../../ports/store/upkeep.ts";
import { eventCalls } from "./operational-events.ts";
import { type Sql, tenantColumn } from "./sql.ts";
import { batch, type Call, sql } from "./statement.ts";

type DocumentRow = readonly [document: string];

// ---- operational events and messages ------------------------------------------------------------------------------

const pending = sql<DocumentRow>(
  "SELECT document FROM posthorn.operational_events WHERE relayed_at IS NULL ORDER BY seq LIMIT $1",
);
const relayed = sql("UPDATE posthorn.operational_events SET relayed_at = $1 WHERE key = ANY ($2::text[])");

const columns = "seq, id, key, channel, tenant, state, due_at, attempts, ended_at, error, event, document";
type NotificationRow = readonly [
  ...[seq: number, id: string, key: string, channel: string, tenant: string | null, state: NotificationState],
  ...[dueAt: number, attempts: number, endedAt: number | null, error: string | null, event: string | null],
  document: string,
];

const enqueue = sql(
  `INSERT INTO posthorn.notifications (id, key, channel, tenant, state, due_at, attempts, lease_until, document, urgent)
   SELECT id, key, channel, tenant, 'waiting', due_at, 0, 0, document, urgent
   FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::int[])
     AS g (id, key, channel, tenant, due_at, document, urgent) WHERE true ON CONFLICT DO NOTHING`,
);

const isDue = "state = 'waiting' AND due_at <= $1 AND lease_until <= $1";
const anyDue = sql(`SELECT 1 FROM posthorn.notifications WHERE ${isDue} LIMIT 1`);
const claim = claimSql("true", "due_at, seq");
const claimOfOperator = claimSql("tenant IS NULL", "urgent DESC, due_at, seq");
const claimOfTenant = claimSql(
  'tenant COLLATE "C" > $7::text',
  'tenant COLLATE "C", urgent DESC, due_at, seq',
);

/**
 * `whose` selects the messages that a claim considers, and `order` sorts them. The owners are looked up only once. In
 * PostgreSQL, a subquery that locks rows may run again for each row of the update, and would then lease more messages
 * than the limit.
 */
function claimSql(whose: string, order: string) {
  return sql<NotificationRow>(
    `WITH due AS MATERIALIZED (SELECT seq FROM posthorn.notifications
       WHERE ${whose} AND ${isDue} AND (channel = ANY ($5::text[])) <> $6::boolean
       ORDER BY ${order} LIMIT $4 FOR UPDATE SKIP LOCKED)
     UPDATE posthorn.notifications SET lease_until = $2, lease_owner = $3 WHERE seq IN (SELECT seq FROM due)
     RETURNING ${columns}`,
  );
}

const settle = sql(
  `UPDATE posthorn.notifications AS n SET state = g.state, attempts = g.attempts, due_at = g.due_at,
     ended_at = CASE WHEN g.state = 'waiting' THEN NULL ELSE g.at END, error = g.error, event = g.event,
     lease_owner = NULL, lease_until = 0
   FROM unnest($2::text[], $3::text[], $4::int[], $5::bigint[], $6::bigint[], $7::text[], $8::text[])
     AS g (id, state, attempts, due_at, at, error, event)
   WHERE n.id = g.id AND n.lease_owner = $1 AND n.state = 'waiting'`,
);

const list = listSql("true");
const listOfOperator = listSql("tenant IS NULL");
const listOfTenant = listSql("tenant = $6");

/** `whose` selects the messages of one owner; an index covers them in this order. */
function listSql(whose: string) {
  return sql<NotificationRow>(
    `SELECT ${columns} FROM posthorn.notifications WHERE ${whose} AND ($1::text IS NULL OR channel = $1)
       AND ($2::text IS NULL OR state = $2) AND seq < $3 ORDER BY seq DESC LIMIT $4 OFFSET $5`,
  );
}

const waiting = sql<readonly [count: number, oldestDueAt: number | null]>(
  "SELECT count(*), min(due_at) FROM posthorn.notifications WHERE state = 'waiting'",
);

const episodes = sql<DocumentRow>("SELECT document FROM posthorn.failure_episodes ORDER BY webhook");
const saveEpisode = sql(
  `INSERT INTO posthorn.failure_episodes (webhook, document) VALUES ($1, $2)
   ON CONFLICT (webhook) DO UPDATE SET document = excluded.document`,
);
const endEpisode = sql("DELETE FROM posthorn.failure_episodes WHERE webhook = $1");
const failing = sql<readonly [webhookId: string, health: string]>(
  `SELECT webhook, health FROM posthorn.webhook_states
   WHERE strpos(health, '"failingSince":null') = 0 AND webhook > $1 ORDER BY webhook LIMIT $2`,
);

// ---- channels, recipients and counters ----------------------------------------------------------------------------

const consentColumns = "a.address, a.id, a.confirmation_sent_at, a.confirmed_at, a.unsubscribed_at";
type Dates = [confirmationSentAt: number | null, confirmedAt: number | null, unsubscribedAt: number | null];

const channels = sql<
  readonly [document: string, status: string | null, address: string | null, id: string | null, ...Dates]
>(
  `SELECT document, status, ${consentColumns} FROM posthorn.notification_channels AS c
   LEFT JOIN posthorn.mail_addresses AS a ON a.tenant = coalesce(c.tenant, '') AND a.address = c.address
   ORDER BY c.tenant NULLS FIRST, position`,
);
const dropChannels = sql(
  `DELETE FROM posthorn.notification_channels
   WHERE tenant IS NOT DISTINCT FROM $1::text AND NOT id = ANY ($2::text[])`,
);
const saveChannels = sql(
  `INSERT INTO posthorn.notification_channels AS c (id, tenant, position, document, address)
   SELECT id, $1::text, position, document, address
   FROM unnest($2::text[], $3::int[], $4::text[], $5::text[]) AS g (id, position, document, address) WHERE true
   ON CONFLICT (id) DO UPDATE
   SET position = excluded.position, document = excluded.document, address = excluded.address
   WHERE c.tenant IS NOT DISTINCT FROM excluded.tenant`,
);
const saveStatus = sql("UPDATE posthorn.notification_channels SET status = $1 WHERE id = $2");

const consents = sql<readonly [address: string, id: string, ...Dates]>(
  `SELECT ${consentColumns} FROM posthorn.mail_addresses AS a WHERE tenant = $1 AND address = ANY ($2::text[])`,
);
const addressById = sql<readonly [tenant: string, address: string, id: string, ...Dates]>(
  `SELECT a.tenant, ${consentColumns} FROM posthorn.mail_addresses AS a WHERE id = $1`,
);
const rememberAddresses = sql(
  `INSERT INTO posthorn.mail_addresses (tenant, address, id, created_at)
   SELECT $1, address, id, created_at FROM unnest($2::text[], $3::text[], $4::bigint[]) AS g (address, id, created_at)
   WHERE true ORDER BY address ON CONFLICT DO NOTHING`,
);
const unconfirmed = sql<readonly [all: number, recent: number]>(
  `SELECT count(*), count(*) FILTER (WHERE created_at >= $1) FROM posthorn.mail_addresses
   WHERE tenant = $2 AND confirmed_at IS NULL`,
);
const confirmationSent = sql("UPDATE posthorn.mail_addresses SET confirmation_sent_at = $1 WHERE id = $2");
const subscribe = sql(
  `UPDATE posthorn.mail_addresses SET confirmed_at = coalesce(confirmed_at, $1), unsubscribed_at = NULL WHERE id = $2`,
);
const unsubscribe = sql(
  "UPDATE posthorn.mail_addresses SET unsubscribed_at = coalesce(unsubscribed_at, $1) WHERE id = $2",
);

const count = sql<readonly [count: number]>(
  `INSERT INTO posthorn.notification_counts AS c (subject, since, count)
   SELECT subject, since, 1 FROM unnest($1::text[], $2::bigint[]) AS g (subject, since) WHERE true
   ON CONFLICT (subject, since) DO UPDATE SET count = c.count + 1 RETURNING count`,
);
const counted = sql<readonly [subject: string, since: number, count: number]>(
  `SELECT subject, since, count FROM posthorn.notification_counts
   JOIN unnest($1::text[], $2::bigint[]) AS g (subject, since) USING (subject, since)`,
);

const forgetEvents = sql(
  `DELETE FROM posthorn.operational_events WHERE seq IN
     (SELECT seq FROM posthorn.operational_events WHERE relayed_at < $1 LIMIT $2) RETURNING seq`,
);
const forgetNotifications = sql(
  `DELETE FROM posthorn.notifications WHERE seq IN
     (SELECT seq FROM posthorn.notifications WHERE ended_at < $1 LIMIT $2) RETURNING seq`,
);
const forgetCounts = sql(
  `DELETE FROM posthorn.notification_counts WHERE (subject, since) IN
     (SELECT subject, since FROM posthorn.notification_counts WHERE since < $1 LIMIT $2) RETURNING subject`,
);

export class Notifications implements NotificationQueue {
  readonly #sql: Sql;

  constructor(events: Sql) {
    this.#sql = events;
  }

  async appendEvents(events: readonly OperationalEvent[]): Promise<void> {
    await this.#sql.run(eventCalls(events));
  }

  async pendingEvents(limit: number): Promise<readonly OperationalEvent[]> {
    const rows = await this.#sql.read(pending(limit));
    return rows.map(([document]) => JSON.parse(document) as OperationalEvent);
  }

  async relayed({ keys, at, notifications }: RelayedEvents): Promise<void> {
    await this.#sql.run([relayed(at, keys), ...enqueueCalls(notifications)]);
  }

  async channels(): Promise<readonly StoredChannel[]> {
    const rows = await this.#sql.read(channels());
    return rows.map(([document, status, address, id, ...dates]) => ({
      channel: JSON.parse(document) as NotificationChannel,
      status: status === null ? freshStatus : (JSON.parse(status) as ChannelStatus),
      consent: address === null || id === null ? null : toConsent(id, dates),
    }));
  }

  async saveChannels({ tenantId, channels: given }: SaveChannels, audit?: AuditEntry): Promise<void> {
    const rows = given.map((channel, at) => {
      const address = channel.kind === "email" ? foldedAddress(channel.address) : null;
      return [channel.id, at + 1, JSON.stringify(channel), address];
    });
    const ids = given.map(({ id }) => id);
    await this.#sql.write(audit, dropChannels(tenantId, ids), ...batch(saveChannels, rows, tenantId));
  }

  async saveStatus(channelId: string, status: ChannelStatus): Promise<void> {
    await this.#sql.run([saveStatus(JSON.stringify(status), channelId)]);
  }

  async enqueue(notifications: readonly NewNotification[]): Promise<void> {
    await this.#sql.run(enqueueCalls(notifications));
  }

  async consents(
    owner: AddressOwner,
    addresses: readonly string[],
  ): Promise<ReadonlyMap<string, AddressConsent>> {
    const rows = await this.#sql.read(consents(tenantColumn(owner), addresses));
    return new Map(rows.map(([address, id, ...dates]) => [address, toConsent(id, dates)]));
  }

  async address(addressId: string): Promise<StoredAddress | null> {
    const [row] = await this.#sql.read(addressById(addressId));
    if (row === undefined) return null;
    const [tenant, address, id, ...dates] = row;
    return { tenantId: tenant === "" ? null : tenant, address, consent: toConsent(id, dates) };
  }

  async rememberAddresses(owner: AddressOwner, addresses: readonly NewAddress[]): Promise<void> {
    const rows = addresses.map(({ address, id, createdAt }) => [address, id, createdAt]);
    await this.#sql.run(batch(rememberAddresses, rows, tenantColumn(owner)));
  }

  async unconfirmed(owner: AddressOwner, since: number): ReturnType<NotificationQueue["unconfirmed"]> {
    const [[all, recent] = [0, 0]] = await this.#sql.read(unconfirmed(since, tenantColumn(owner)));
    return { all, recent };
  }

  async confirmationSent(id: string, at: number): Promise<void> {
    await this.#sql.run([confirmationSent(at, id)]);
  }

  async saveConsent(id: string, at: number, wanted: boolean): Promise<void> {
    await this.#sql.run([wanted ? subscribe(at, id) : unsubscribe(at, id)]);
  }

  async count({ subject, since }: NotificationCounter): Promise<number> {
    const [rows = []] = await this.#sql.run(batch(count, [[subject, since]]));
    return Number(rows[0]?.[0] ?? 0);
  }

  async counts(counters: readonly NotificationCounter[]): Promise<readonly number[]> {
    const [call] = batch(counted, rowsOfCounters(counters));
    const rows = call === undefined ? [] : await this.#sql.read(call);
    return counters.map(
      ({ subject, since }) => rows.find((row) => row[0] === subject && row[1] === since)?.[2] ?? 0,
    );
  }

  async claim(request: NotificationClaim): Promise<readonly StoredNotification[]> {
    const { now, leaseUntil, leaseOwner, limit, channels: to, turn } = request;
    // Usually nothing is due, and a read is cheaper than an update that matches no rows.
    const due = await this.#sql.read(anyDue(now));
    if (due.length === 0) return [];
    const lease = [now, leaseUntil, leaseOwner, limit, to.ids, to.isRest] as const;
    const calls = typeof turn === "object" ? claimOfTenant(...lease, turn.after) : claim(...lease);
    const rows = await this.#sql.change(undefined, turn === "operator" ? claimOfOperator(...lease) : calls);
    return rows.map(toNotification).toSorted((left, right) => left.dueAt - right.dueAt);
  }

  async settle(
    outcomes: readonly NotificationOutcome[],
    leaseOwner: string,
    sent: readonly NotificationCounter[] = [],
  ): Promise<void> {
    if (outcomes.length === 0) return;
    const rows = outcomes.map(({ id, state, attempts, dueAt, at, error, eventId }) => {
      return [id, state, attempts, dueAt, at, error, eventId];
    });
    // Every transaction uses the same order, which prevents deadlocks.
    const ordered = sent.toSorted((left, right) => (left.subject < right.subject ? -1 : 1));
    await this.#sql.run([...batch(settle, rows, leaseOwner), ...batch(count, rowsOfCounters(ordered))]);
  }

  async list({ tenantId, channelId, state, page }: NotificationQuery): Promise<Page<StoredNotification>> {
    const before = page.before ?? Number.MAX_SAFE_INTEGER;
    // One row more than the limit shows whether there are older messages.
    const asked = [channelId, state, before, page.limit + 1, page.offset] as const;
    const ofOwner = tenantId === null ? listOfOperator(...asked) : listOfTenant(...asked, tenantId ?? "");
    const rows = await this.#sql.read(tenantId === undefined ? list(...asked) : ofOwner);
    const shown = rows.slice(0, page.limit);
    return {
      rows: shown.map(toNotification),
      next: rows.length > page.limit ? (shown.at(-1)?.[0] ?? null) : null,
    };
  }

  async waiting(): ReturnType<NotificationQueue["waiting"]> {
    const [[found, oldestDueAt] = [0, null]] = await this.#sql.read(waiting());
    return { count: found, oldestDueAt };
  }

  async episodes(): Promise<readonly FailureEpisode[]> {
    const rows = await this.#sql.read(episodes());
    return rows.map(([document]) => JSON.parse(document) as FailureEpisode);
  }

  async saveEpisode({ webhookId, episode, events, notifications }: SaveEpisode): Promise<void> {
    const saving = episode === null ? endEpisode(webhookId) : saveEpisode(webhookId, JSON.stringify(episode));
    await this.#sql.run([saving, ...eventCalls(events), ...enqueueCalls(notifications)]);
  }

  async failing(after: string | null, limit: number): Promise<readonly FailingRow[]> {
    const rows = await this.#sql.read(failing(after ?? "", limit));
    return rows.map(([webhookId, health]) => ({ webhookId, health }));
  }

  async forget(before: number, limit: number): Promise<StepResult> {
    const removed = await this.#sql.run([
      forgetEvents(before, limit),
      forgetNotifications(before, limit),
      forgetCounts(before, limit),
    ]);
    const changed = removed.reduce((sum, rows) => sum + rows.length, 0);
    return { changed, more: changed >= limit };
  }
}

/**
 * Returns the calls that store messages whose key is new to their channel. The messages are sorted by key, which
 * prevents deadlocks.
 */
function enqueueCalls(notifications: readonly NewNotification[]): readonly Call[] {
  const ordered = notifications.toSorted((left, right) => (left.key < right.key ? -1 : 1));
  return batch(
    enqueue,
    ordered.map(({ id, key, channelId, tenantId, dueAt, topic, group, content, createdAt }) => {
      const document = JSON.stringify({ topic, group, content, createdAt });
      return [id, key, channelId, tenantId, dueAt, document, Number(isUrgent(tenantId, topic))];
    }),
  );
}

function rowsOfCounters(counters: readonly NotificationCounter[]) {
  return counters.map(({ subject, since }) => [subject, since] as const);
}

function toNotification(row: NotificationRow): StoredNotification {
  const [, id, key, channelId, tenantId, state, dueAt, attempts, endedAt, error, eventId, document] = row;
  const kept = JSON.parse(document) as Pick<NewNotification, "topic" | "group" | "content" | "createdAt">;
  return { ...kept, id, key, channelId, tenantId, state, dueAt, attempts, endedAt, error, eventId };
}

function toConsent(
  id: string,
  [confirmationSentAt, confirmedAt, unsubscribedAt]: readonly [...Dates],
): AddressConsent {
  return { id, confirmationSentAt, confirmedAt, unsubscribedAt };
}
