import {
  type AddressConsent,
  type ChannelStatus,
  isUrgent,
} from "../../../features/notifications/notification.ts";
import type { OperationalEvent } from "../../../features/notifications/operational-event.ts";
import type { Page } from "../../../ports/store.ts";
import type { AuditEntry } from "../../../ports/store/audit.ts";
import type {
  FailingRow,
  FailureEpisode,
  AddressOwner,
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
} from "../../../ports/store/notifications.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import {
  channelColumns,
  type ChannelRow,
  consentColumns,
  type ConsentRow,
  type DocumentRow,
  eventsInOrder,
  notificationColumns,
  notificationDocument,
  notificationParameters,
  type NotificationRow,
  ownerColumn,
  toChannel,
  toConsent,
  toEpisode,
  toEvent,
  toNotification,
  toNotificationPage,
} from "../../notification-rows.ts";
import { writeAudit } from "./audit.ts";
import { numbers, texts } from "../driver/columns.ts";
import { storable } from "../../column-values.ts";
import type { Database, Runner } from "../driver/database.ts";

/** In key order, as in all transactions that write them. */
export async function writeOperationalEvents(
  runner: Runner,
  events: readonly OperationalEvent[] = [],
): Promise<void> {
  if (events.length === 0) return;
  const ordered = eventsInOrder(events);
  await runner.rows(
    `INSERT INTO posthorn.operational_events (key, at, document)
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[]) ON CONFLICT (key) DO NOTHING`,
    [
      texts(ordered.map(({ key }) => key)),
      numbers(ordered.map(({ at }) => at)),
      texts(ordered.map((event) => JSON.stringify(event))),
    ],
  );
}

async function writeNotifications(runner: Runner, given: readonly NewNotification[]): Promise<void> {
  if (given.length === 0) return;
  const notifications = given.toSorted((left, right) => (left.key < right.key ? -1 : 1));
  await runner.rows(
    `INSERT INTO posthorn.notifications
       (id, key, channel, tenant, state, due_at, attempts, lease_until, document, urgent)
     SELECT id, key, channel, tenant, 'waiting', due_at, 0, 0, document, urgent
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::int[])
       AS g (id, key, channel, tenant, due_at, document, urgent) ON CONFLICT DO NOTHING`,
    [
      texts(notifications.map(({ id }) => id)),
      texts(notifications.map(({ key }) => key)),
      texts(notifications.map(({ channelId }) => channelId)),
      texts(notifications.map(({ tenantId }) => tenantId)),
      numbers(notifications.map(({ dueAt }) => dueAt)),
      texts(notifications.map((notification) => notificationDocument(notification))),
      numbers(notifications.map((each) => Number(isUrgent(each.tenantId, each.topic)))),
    ],
  );
}

export class PostgresNotificationQueue implements NotificationQueue {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async appendEvents(events: readonly OperationalEvent[]): Promise<void> {
    await writeOperationalEvents(this.#database, events);
  }

  async pendingEvents(limit: number): Promise<readonly OperationalEvent[]> {
    const rows = await this.#database.rows<DocumentRow>(
      "SELECT document FROM posthorn.operational_events WHERE relayed_at IS NULL ORDER BY seq LIMIT $1",
      [limit],
    );
    return rows.map((row) => toEvent(row));
  }

  async relayed({ keys, at, notifications }: RelayedEvents): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      await transaction.rows(
        "UPDATE posthorn.operational_events SET relayed_at = $1 WHERE key = ANY ($2::text[])",
        [at, texts(keys)],
      );
      await writeNotifications(transaction, notifications);
    });
  }

  async channels(): Promise<readonly StoredChannel[]> {
    const rows = await this.#database.rows<ChannelRow>(
      `SELECT document, status, ${consentColumns} FROM posthorn.notification_channels c
       LEFT JOIN posthorn.mail_addresses a ON a.tenant = coalesce(c.tenant, '') AND a.address = c.address
       ORDER BY c.tenant NULLS FIRST, position`,
    );
    return rows.map((row) => toChannel(row));
  }

  async saveChannels(command: SaveChannels, audit?: AuditEntry): Promise<void> {
    const { ids, documents, addresses } = channelColumns(command);
    await this.#database.transaction(async (transaction) => {
      await transaction.rows(
        `DELETE FROM posthorn.notification_channels
         WHERE tenant IS NOT DISTINCT FROM $1::text AND NOT id = ANY ($2::text[])`,
        [command.tenantId, texts(ids)],
      );
      await transaction.rows(
        `INSERT INTO posthorn.notification_channels AS c (id, tenant, position, document, address)
         SELECT id, $1::text, position, document, address
         FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS g (id, document, address, position)
         ON CONFLICT (id) DO UPDATE
         SET position = excluded.position, document = excluded.document, address = excluded.address
         WHERE c.tenant IS NOT DISTINCT FROM excluded.tenant`,
        [command.tenantId, texts(ids), texts(documents), texts(addresses)],
      );
      await writeAudit(transaction, audit);
    });
  }

  async saveStatus(command: { readonly channelId: string; readonly status: ChannelStatus }): Promise<void> {
    const status = storable(JSON.stringify(command.status));
    await this.#database.rows("UPDATE posthorn.notification_channels SET status = $1 WHERE id = $2", [
      status,
      command.channelId,
    ]);
  }

  async enqueue(notifications: readonly NewNotification[]): Promise<void> {
    await writeNotifications(this.#database, notifications);
  }

  async consents(
    owner: AddressOwner,
    addresses: readonly string[],
  ): Promise<ReadonlyMap<string, AddressConsent>> {
    const rows = await this.#database.rows<ConsentRow>(
      `SELECT ${consentColumns} FROM posthorn.mail_addresses a WHERE tenant = $1 AND address = ANY ($2::text[])`,
      [ownerColumn(owner), texts(addresses)],
    );
    return new Map(rows.map((row) => [row[0], toConsent(row)]));
  }

  async address(id: string): Promise<StoredAddress | null> {
    const [row] = await this.#database.rows<[...ConsentRow, tenant: string]>(
      `SELECT ${consentColumns}, a.tenant FROM posthorn.mail_addresses a WHERE id = $1`,
      [id],
    );
    if (row === undefined) return null;
    const [address, consentId, sentAt, confirmedAt, unsubscribedAt, tenant] = row;
    const consent = toConsent([address, consentId, sentAt, confirmedAt, unsubscribedAt]);
    return { tenantId: tenant === "" ? null : tenant, address, consent };
  }

  async rememberAddresses(owner: AddressOwner, addresses: readonly NewAddress[]): Promise<void> {
    await this.#database.rows(
      `INSERT INTO posthorn.mail_addresses (tenant, address, id, created_at)
       SELECT $1, address, id, created_at FROM unnest($2::text[], $3::text[], $4::bigint[])
         AS g (address, id, created_at) ORDER BY address ON CONFLICT DO NOTHING`,
      [
        ownerColumn(owner),
        texts(addresses.map(({ address }) => address)),
        texts(addresses.map(({ id }) => id)),
        numbers(addresses.map(({ createdAt }) => createdAt)),
      ],
    );
  }

  async unconfirmed(owner: AddressOwner, since: number): ReturnType<NotificationQueue["unconfirmed"]> {
    const [row] = await this.#database.rows<[all: number, recent: number]>(
      `SELECT count(*), count(*) FILTER (WHERE created_at >= $1) FROM posthorn.mail_addresses
       WHERE tenant = $2 AND confirmed_at IS NULL`,
      [since, ownerColumn(owner)],
    );
    return { all: row?.[0] ?? 0, recent: row?.[1] ?? 0 };
  }

  async confirmationSent(id: string, at: number): Promise<void> {
    await this.#database.rows("UPDATE posthorn.mail_addresses SET confirmation_sent_at = $1 WHERE id = $2", [
      at,
      id,
    ]);
  }

  async saveConsent(decision: {
    readonly id: string;
    readonly at: number;
    readonly wanted: boolean;
  }): Promise<void> {
    const { id, at, wanted } = decision;
    await this.#database.rows(
      wanted
        ? `UPDATE posthorn.mail_addresses
           SET confirmed_at = coalesce(confirmed_at, $1), unsubscribed_at = NULL WHERE id = $2`
        : "UPDATE posthorn.mail_addresses SET unsubscribed_at = coalesce(unsubscribed_at, $1) WHERE id = $2",
      [at, id],
    );
  }

  async count({ subject, since }: NotificationCounter): Promise<number> {
    const [row] = await this.#database.rows<[count: number]>(countSql, [texts([subject]), numbers([since])]);
    return row?.[0] ?? 0;
  }

  async counts(counters: readonly NotificationCounter[]): Promise<readonly number[]> {
    const rows = await this.#database.rows<[subject: string, since: number, count: number]>(
      `SELECT subject, since, count FROM posthorn.notification_counts
       JOIN unnest($1::text[], $2::bigint[]) AS g (subject, since) USING (subject, since)`,
      [texts(counters.map(({ subject }) => subject)), numbers(counters.map(({ since }) => since))],
    );
    return counters.map(
      ({ subject, since }) => rows.find((row) => row[0] === subject && row[1] === since)?.[2] ?? 0,
    );
  }

  async claim(request: NotificationClaim): Promise<readonly StoredNotification[]> {
    const { now, leaseUntil, holder, limit, channels, turn } = request;
    const [whose, order] = turnSql(turn);
    const rows = await this.#database.rows<NotificationRow>(
      `UPDATE posthorn.notifications SET lease_until = $1, holder = $2 WHERE seq IN
         (SELECT seq FROM posthorn.notifications
          WHERE ${whose} AND state = 'waiting' AND due_at <= $3 AND lease_until <= $3
            AND (channel = ANY ($5::text[])) <> $6::boolean
          ORDER BY ${order} LIMIT $4 FOR UPDATE SKIP LOCKED) RETURNING ${notificationColumns}`,
      [
        leaseUntil,
        holder,
        now,
        limit,
        texts(channels.ids),
        channels.isRest,
        typeof turn === "object" ? turn.after : "",
      ],
    );
    return rows.map((row) => toNotification(row)).toSorted((left, right) => left.dueAt - right.dueAt);
  }

  async settle(
    outcomes: readonly NotificationOutcome[],
    holder: string,
    counted: readonly NotificationCounter[] = [],
  ): Promise<void> {
    if (outcomes.length === 0) return;
    if (counted.length === 0) return this.#settle(this.#database, outcomes, holder);
    const ordered = counted.toSorted((left, right) => (left.subject < right.subject ? -1 : 1));
    await this.#database.transaction(async (transaction) => {
      await this.#settle(transaction, outcomes, holder);
      await transaction.rows(countSql, [
        texts(ordered.map(({ subject }) => subject)),
        numbers(ordered.map(({ since }) => since)),
      ]);
    });
  }

  async #settle(runner: Runner, outcomes: readonly NotificationOutcome[], holder: string): Promise<void> {
    await runner.rows(
      `UPDATE posthorn.notifications n SET state = g.state, attempts = g.attempts, due_at = g.due_at,
         ended_at = CASE WHEN g.state = 'waiting' THEN NULL ELSE g.at END, error = g.error, event = g.event,
         holder = NULL, lease_until = 0
       FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[], $5::bigint[], $6::text[], $7::text[])
         AS g (id, state, attempts, due_at, at, error, event)
       WHERE n.id = g.id AND n.holder = $8 AND n.state = 'waiting'`,
      [
        texts(outcomes.map(({ id }) => id)),
        texts(outcomes.map(({ state }) => state)),
        numbers(outcomes.map(({ attempts }) => attempts)),
        numbers(outcomes.map(({ dueAt }) => dueAt)),
        numbers(outcomes.map(({ at }) => at)),
        texts(outcomes.map(({ error }) => error)),
        texts(outcomes.map(({ eventId }) => eventId)),
        holder,
      ],
    );
  }

  async list(query: NotificationQuery): Promise<Page<StoredNotification>> {
    const rows = await this.#database.rows<NotificationRow>(
      `SELECT ${notificationColumns} FROM posthorn.notifications
       WHERE ${whoseSql(query)} AND ($2::text IS NULL OR channel = $2)
         AND ($3::text IS NULL OR state = $3) AND seq < $4 ORDER BY seq DESC LIMIT $5 OFFSET $6`,
      notificationParameters(query),
    );
    return toNotificationPage(rows, query.page.limit);
  }

  async waiting(): ReturnType<NotificationQueue["waiting"]> {
    const [row] = await this.#database.rows<[count: number, oldestDueAt: number | null]>(
      "SELECT count(*), min(due_at) FROM posthorn.notifications WHERE state = 'waiting'",
    );
    return { count: row?.[0] ?? 0, oldestDueAt: row?.[1] ?? null };
  }

  async episodes(): Promise<readonly FailureEpisode[]> {
    const rows = await this.#database.rows<DocumentRow>(
      "SELECT document FROM posthorn.failure_episodes ORDER BY webhook",
    );
    return rows.map((row) => toEpisode(row));
  }

  async saveEpisode({ webhookId, episode, events, notifications }: SaveEpisode): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      if (episode === null)
        await transaction.rows("DELETE FROM posthorn.failure_episodes WHERE webhook = $1", [webhookId]);
      else
        await transaction.rows(
          `INSERT INTO posthorn.failure_episodes VALUES ($1, $2)
           ON CONFLICT (webhook) DO UPDATE SET document = excluded.document`,
          [webhookId, JSON.stringify(episode)],
        );
      await writeOperationalEvents(transaction, events);
      await writeNotifications(transaction, notifications);
    });
  }

  async failing(after: string | null, limit: number): Promise<readonly FailingRow[]> {
    const rows = await this.#database.rows<[webhookId: string, health: string]>(
      `SELECT webhook, health FROM posthorn.webhook_states
       WHERE strpos(health, '"failingSince":null') = 0 AND webhook > $1 ORDER BY webhook LIMIT $2`,
      [after ?? "", limit],
    );
    return rows.map(([webhookId, health]) => ({ webhookId, health }));
  }

  async forget({ before, limit }: { readonly before: number; readonly limit: number }): Promise<StepResult> {
    const [row] = await this.#database.rows<[changed: number]>(
      `WITH events AS (DELETE FROM posthorn.operational_events WHERE seq IN
           (SELECT seq FROM posthorn.operational_events WHERE relayed_at < $1 LIMIT $2) RETURNING 1),
         ended AS (DELETE FROM posthorn.notifications WHERE seq IN
           (SELECT seq FROM posthorn.notifications WHERE ended_at < $1 LIMIT $2) RETURNING 1),
         counted AS (DELETE FROM posthorn.notification_counts WHERE (subject, since) IN
           (SELECT subject, since FROM posthorn.notification_counts WHERE since < $1 LIMIT $2) RETURNING 1)
       SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM ended) + (SELECT count(*) FROM counted)`,
      [before, limit],
    );
    const changed = row?.[0] ?? 0;
    return { changed, more: changed >= limit };
  }
}

const countSql = `INSERT INTO posthorn.notification_counts AS c (subject, since, count)
  SELECT subject, since, 1 FROM unnest($1::text[], $2::bigint[]) AS g (subject, since)
  ON CONFLICT (subject, since) DO UPDATE SET count = c.count + 1 RETURNING count`;

/** Whose messages a claim considers, and their order. */
function turnSql(turn: NotificationClaim["turn"]): readonly [whose: string, order: string] {
  if (turn === undefined) return ["$7::text IS NOT NULL", "due_at, seq"];
  if (turn === "operator") return ["tenant IS NULL AND $7::text IS NOT NULL", "urgent DESC, due_at, seq"];
  return ['tenant COLLATE "C" > $7::text', 'tenant COLLATE "C", urgent DESC, due_at, seq'];
}

/** Messages of all owners, of the operator, or of a tenant; by the tenant index where there is one. */
function whoseSql({ tenantId }: NotificationQuery): string {
  if (tenantId === undefined) return "$1::text IS NULL";
  return tenantId === null ? "tenant IS NULL AND $1::text IS NULL" : "tenant = $1";
}
