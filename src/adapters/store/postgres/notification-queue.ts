import type { ChannelStatus } from "../../../core/notifications/notification.ts";
import type { OperationalEvent } from "../../../core/notifications/operational-event.ts";
import type { Page } from "../../../ports/store.ts";
import type { AuditEntry } from "../../../ports/store/audit.ts";
import type {
  FailingRow,
  FailureEpisode,
  NewNotification,
  NotificationClaim,
  NotificationOutcome,
  NotificationQuery,
  NotificationQueue,
  RelayedEvents,
  SaveChannels,
  SaveEpisode,
  StoredChannel,
  StoredNotification,
} from "../../../ports/store/notifications.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import {
  channelColumns,
  type ChannelRow,
  type DocumentRow,
  eventsInOrder,
  notificationColumns,
  notificationDocument,
  notificationParameters,
  type NotificationRow,
  toChannel,
  toEpisode,
  toEvent,
  toNotification,
  toNotificationPage,
} from "../notification-rows.ts";
import { writeAudit } from "./audit.ts";
import { numbers, texts } from "./columns.ts";
import { storable } from "../storable-text.ts";
import type { Database, Runner } from "./database.ts";

/** In the order of keys, in which all transactions write them. */
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
    `INSERT INTO posthorn.notifications (id, key, channel, tenant, state, due_at, attempts, lease_until, document)
     SELECT id, key, channel, tenant, 'waiting', due_at, 0, 0, document
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
       AS g (id, key, channel, tenant, due_at, document) ON CONFLICT DO NOTHING`,
    [
      texts(notifications.map(({ id }) => id)),
      texts(notifications.map(({ key }) => key)),
      texts(notifications.map(({ channelId }) => channelId)),
      texts(notifications.map(({ tenantId }) => tenantId)),
      numbers(notifications.map(({ dueAt }) => dueAt)),
      texts(notifications.map((notification) => notificationDocument(notification))),
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
      "SELECT document, status FROM posthorn.notification_channels ORDER BY tenant NULLS FIRST, position",
    );
    return rows.map((row) => toChannel(row));
  }

  async saveChannels(command: SaveChannels, audit?: AuditEntry): Promise<void> {
    const { ids, documents } = channelColumns(command);
    await this.#database.transaction(async (transaction) => {
      await transaction.rows(
        `DELETE FROM posthorn.notification_channels
         WHERE tenant IS NOT DISTINCT FROM $1::text AND NOT id = ANY ($2::text[])`,
        [command.tenantId, texts(ids)],
      );
      await transaction.rows(
        `INSERT INTO posthorn.notification_channels AS c (id, tenant, position, document)
         SELECT id, $1::text, position, document
         FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS g (id, document, position) ON CONFLICT (id)
         DO UPDATE SET position = excluded.position, document = excluded.document
         WHERE c.tenant IS NOT DISTINCT FROM excluded.tenant`,
        [command.tenantId, texts(ids), texts(documents)],
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

  async claim(request: NotificationClaim): Promise<readonly StoredNotification[]> {
    const { now, leaseUntil, holder, limit, channels } = request;
    const rows = await this.#database.rows<NotificationRow>(
      `UPDATE posthorn.notifications SET lease_until = $1, holder = $2 WHERE seq IN
         (SELECT seq FROM posthorn.notifications WHERE state = 'waiting' AND due_at <= $3 AND lease_until <= $3
            AND (channel = ANY ($5::text[])) <> $6::boolean
          ORDER BY due_at, seq LIMIT $4 FOR UPDATE SKIP LOCKED) RETURNING ${notificationColumns}`,
      [leaseUntil, holder, now, limit, texts(channels.ids), channels.isRest],
    );
    return rows.map((row) => toNotification(row)).toSorted((left, right) => left.dueAt - right.dueAt);
  }

  async settle(
    outcomes: readonly NotificationOutcome[],
    { holder }: { readonly holder: string },
  ): Promise<void> {
    if (outcomes.length === 0) return;
    await this.#database.rows(
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

  async failing(page: {
    readonly after: string | null;
    readonly limit: number;
  }): Promise<readonly FailingRow[]> {
    const rows = await this.#database.rows<[webhookId: string, health: string]>(
      `SELECT webhook, health FROM posthorn.webhook_states
       WHERE strpos(health, '"failingSince":null') = 0 AND webhook > $1 ORDER BY webhook LIMIT $2`,
      [page.after ?? "", page.limit],
    );
    return rows.map(([webhookId, health]) => ({ webhookId, health }));
  }

  async forget({ before, limit }: { readonly before: number; readonly limit: number }): Promise<StepResult> {
    const [row] = await this.#database.rows<[changed: number]>(
      `WITH events AS (DELETE FROM posthorn.operational_events WHERE seq IN
           (SELECT seq FROM posthorn.operational_events WHERE relayed_at < $1 LIMIT $2) RETURNING 1),
         ended AS (DELETE FROM posthorn.notifications WHERE seq IN
           (SELECT seq FROM posthorn.notifications WHERE ended_at < $1 LIMIT $2) RETURNING 1)
       SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM ended)`,
      [before, limit],
    );
    const changed = row?.[0] ?? 0;
    return { changed, more: changed >= limit };
  }
}

/** Of all, of nobody, or of a tenant; by the index of tenants where there is one. */
function whoseSql({ tenantId }: NotificationQuery): string {
  if (tenantId === undefined) return "$1::text IS NULL";
  return tenantId === null ? "tenant IS NULL AND $1::text IS NULL" : "tenant = $1";
}
