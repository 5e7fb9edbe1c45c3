import type { StatementSync } from "node:sqlite";
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
import type { AuditRows } from "./audit.ts";
import type { Connection } from "../driver/connection.ts";

/** Writes operational events and messages. Only inside a write. */
export class NotificationRows {
  readonly #event: StatementSync;
  readonly #notification: StatementSync;

  constructor(connection: Connection) {
    this.#event = connection.prepare(
      "INSERT INTO operational_events (key, at, document) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING",
    );
    this.#notification = connection.prepare(
      `INSERT INTO notifications (id, key, channel, tenant, state, due_at, attempts, lease_until, document, urgent)
       VALUES (?, ?, ?, ?, 'waiting', ?, 0, 0, ?, ?) ON CONFLICT DO NOTHING`,
    );
  }

  writeEvents(events: readonly OperationalEvent[] = []): void {
    for (const event of eventsInOrder(events)) this.#event.run(event.key, event.at, JSON.stringify(event));
  }

  writeNotifications(notifications: readonly NewNotification[]): void {
    for (const notification of notifications) {
      const { id, key, channelId, tenantId, dueAt } = notification;
      const document = notificationDocument(notification);
      this.#notification.run(
        id,
        key,
        channelId,
        tenantId,
        dueAt,
        document,
        Number(isUrgent(notification.tenantId, notification.topic)),
      );
    }
  }
}

export class SqliteNotificationQueue implements NotificationQueue {
  readonly #connection: Connection;
  readonly #rows: NotificationRows;
  readonly #audit: AuditRows;
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(connection: Connection, rows: NotificationRows, audit: AuditRows) {
    this.#connection = connection;
    this.#rows = rows;
    this.#audit = audit;
    this.#statements = prepareStatements(connection);
  }

  async appendEvents(events: readonly OperationalEvent[]): Promise<void> {
    this.#connection.write(() => this.#rows.writeEvents(events));
  }

  async pendingEvents(limit: number): Promise<readonly OperationalEvent[]> {
    return this.#all<DocumentRow>(this.#statements.pending, limit).map((row) => toEvent(row));
  }

  async relayed({ keys, at, notifications }: RelayedEvents): Promise<void> {
    this.#connection.write(() => {
      this.#statements.relayed.run(at, JSON.stringify(keys));
      this.#rows.writeNotifications(notifications);
    });
  }

  async channels(): Promise<readonly StoredChannel[]> {
    return this.#all<ChannelRow>(this.#statements.channels).map((row) => toChannel(row));
  }

  async saveChannels(command: SaveChannels, audit?: AuditEntry): Promise<void> {
    const { ids, documents, addresses } = channelColumns(command);
    this.#connection.write(() => {
      this.#statements.dropChannels.run(command.tenantId, JSON.stringify(ids));
      for (const [position, id] of ids.entries())
        this.#statements.saveChannel.run(
          id,
          command.tenantId,
          position,
          documents[position] ?? "",
          addresses[position] ?? null,
        );
      this.#audit.write(audit);
    });
  }

  async saveStatus(command: { readonly channelId: string; readonly status: ChannelStatus }): Promise<void> {
    const status = JSON.stringify(command.status);
    this.#connection.write(() => this.#statements.saveStatus.run(status, command.channelId));
  }

  async enqueue(notifications: readonly NewNotification[]): Promise<void> {
    this.#connection.write(() => this.#rows.writeNotifications(notifications));
  }

  async consents(
    owner: AddressOwner,
    addresses: readonly string[],
  ): Promise<ReadonlyMap<string, AddressConsent>> {
    const rows = this.#all<ConsentRow>(
      this.#statements.consents,
      ownerColumn(owner),
      JSON.stringify(addresses),
    );
    return new Map(rows.map((row) => [row[0], toConsent(row)]));
  }

  async address(id: string): Promise<StoredAddress | null> {
    const [row] = this.#all<[...ConsentRow, tenant: string]>(this.#statements.address, id);
    if (row === undefined) return null;
    const [address, consentId, sentAt, confirmedAt, unsubscribedAt, tenant] = row;
    const consent = toConsent([address, consentId, sentAt, confirmedAt, unsubscribedAt]);
    return { tenantId: tenant === "" ? null : tenant, address, consent };
  }

  async rememberAddresses(owner: AddressOwner, addresses: readonly NewAddress[]): Promise<void> {
    this.#connection.write(() => {
      for (const { id, address, createdAt } of addresses)
        this.#statements.rememberAddress.run(ownerColumn(owner), address, id, createdAt);
    });
  }

  async unconfirmed(owner: AddressOwner, since: number): ReturnType<NotificationQueue["unconfirmed"]> {
    const [row] = this.#all<[all: number, recent: number]>(
      this.#statements.unconfirmed,
      since,
      ownerColumn(owner),
    );
    return { all: row?.[0] ?? 0, recent: row?.[1] ?? 0 };
  }

  async confirmationSent(id: string, at: number): Promise<void> {
    this.#connection.write(() => this.#statements.confirmationSent.run(at, id));
  }

  async saveConsent(decision: {
    readonly id: string;
    readonly at: number;
    readonly wanted: boolean;
  }): Promise<void> {
    const { id, at, wanted } = decision;
    this.#connection.write(() =>
      (wanted ? this.#statements.subscribe : this.#statements.unsubscribe).run(at, id),
    );
  }

  async count({ subject, since }: NotificationCounter): Promise<number> {
    const row = this.#connection.write(() => this.#statements.count.get(subject, since)) as unknown as [
      number,
    ];
    return row[0];
  }

  async counts(counters: readonly NotificationCounter[]): Promise<readonly number[]> {
    return counters.map(({ subject, since }) => {
      const [row] = this.#all<[number]>(this.#statements.counted, subject, since);
      return row?.[0] ?? 0;
    });
  }

  async claim(request: NotificationClaim): Promise<readonly StoredNotification[]> {
    const { now, leaseUntil, holder, limit, channels, turn } = request;
    const { claim, claimOperator, claimTurn } = this.#statements;
    const ofTenant = typeof turn === "object" ? claimTurn : claim;
    const statement = turn === "operator" ? claimOperator : ofTenant;
    const due = this.#connection.read(() => this.#statements.anyDue.get(now));
    if (due === undefined) return [];
    const rows = this.#connection.write(() =>
      statement.all(
        leaseUntil,
        holder,
        now,
        limit,
        JSON.stringify(channels.ids),
        Number(channels.isRest),
        ...(typeof turn === "object" ? [turn.after] : []),
      ),
    ) as unknown as NotificationRow[];
    return rows.map((row) => toNotification(row)).toSorted((left, right) => left.dueAt - right.dueAt);
  }

  async settle(
    outcomes: readonly NotificationOutcome[],
    holder: string,
    counted: readonly NotificationCounter[] = [],
  ): Promise<void> {
    this.#connection.write(() => {
      for (const { subject, since } of counted) this.#statements.count.get(subject, since);
      for (const { id, state, attempts, dueAt, at, error, eventId } of outcomes) {
        const endedAt = state === "waiting" ? null : at;
        this.#statements.settle.run(state, attempts, dueAt, endedAt, error, eventId, id, holder);
      }
    });
  }

  async list(query: NotificationQuery): Promise<Page<StoredNotification>> {
    return toNotificationPage(
      this.#all<NotificationRow>(
        query.tenantId === undefined ? this.#statements.list : this.#statements.listOfTenant,
        ...notificationParameters(query),
      ),
      query.page.limit,
    );
  }

  async waiting(): ReturnType<NotificationQueue["waiting"]> {
    const [row] = this.#all<[count: number, oldestDueAt: number | null]>(this.#statements.waiting);
    return { count: row?.[0] ?? 0, oldestDueAt: row?.[1] ?? null };
  }

  async episodes(): Promise<readonly FailureEpisode[]> {
    return this.#all<DocumentRow>(this.#statements.episodes).map((row) => toEpisode(row));
  }

  async saveEpisode({ webhookId, episode, events, notifications }: SaveEpisode): Promise<void> {
    this.#connection.write(() => {
      if (episode === null) this.#statements.endEpisode.run(webhookId);
      else this.#statements.saveEpisode.run(webhookId, JSON.stringify(episode));
      this.#rows.writeEvents(events);
      this.#rows.writeNotifications(notifications);
    });
  }

  async failing(after: string | null, limit: number): Promise<readonly FailingRow[]> {
    const rows = this.#all<[webhookId: string, health: string]>(this.#statements.failing, after ?? "", limit);
    return rows.map(([webhookId, health]) => ({ webhookId, health }));
  }

  async forget({ before, limit }: { readonly before: number; readonly limit: number }): Promise<StepResult> {
    const changed = this.#connection.write(
      () =>
        Number(this.#statements.forgetEvents.run(before, limit).changes) +
        Number(this.#statements.forgetNotifications.run(before, limit).changes) +
        Number(this.#statements.forgetCounts.run(before, limit).changes),
    );
    return { changed, more: changed >= limit };
  }

  #all<Row>(statement: StatementSync, ...parameters: readonly (string | number | null)[]): readonly Row[] {
    return this.#connection.read(() => statement.all(...parameters)) as unknown as Row[];
  }
}

/** Messages of all owners, or by the tenant index. */
function listSql(whose: "?1 IS NULL" | "tenant IS ?1"): string {
  return `SELECT ${notificationColumns} FROM notifications WHERE ${whose} AND (?2 IS NULL OR channel = ?2)
    AND (?3 IS NULL OR state = ?3) AND seq < ?4 ORDER BY seq DESC LIMIT ?5 OFFSET ?6`;
}

function prepareStatements(connection: Connection) {
  const due = "state = 'waiting' AND due_at <= ?3 AND lease_until <= ?3";
  const claim = (whose: string, order: string) =>
    connection.prepare(
      `UPDATE notifications SET lease_until = ?1, holder = ?2 WHERE seq IN
         (SELECT seq FROM notifications WHERE ${whose} ${due}
          AND (channel IN (SELECT value FROM json_each(?5))) <> ?6
          ORDER BY ${order} LIMIT ?4) RETURNING ${notificationColumns}`,
    );
  return {
    pending: connection.prepare(
      "SELECT document FROM operational_events WHERE relayed_at IS NULL ORDER BY seq LIMIT ?",
    ),
    relayed: connection.prepare(
      "UPDATE operational_events SET relayed_at = ? WHERE key IN (SELECT value FROM json_each(?))",
    ),
    channels: connection.prepare(
      `SELECT document, status, ${consentColumns} FROM notification_channels c
       LEFT JOIN mail_addresses a ON a.tenant = coalesce(c.tenant, '') AND a.address = c.address
       ORDER BY c.tenant, position`,
    ),
    dropChannels: connection.prepare(
      "DELETE FROM notification_channels WHERE tenant IS ? AND id NOT IN (SELECT value FROM json_each(?))",
    ),
    saveChannel: connection.prepare(
      `INSERT INTO notification_channels (id, tenant, position, document, address) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE
       SET position = excluded.position, document = excluded.document, address = excluded.address WHERE tenant IS excluded.tenant`,
    ),
    saveStatus: connection.prepare("UPDATE notification_channels SET status = ? WHERE id = ?"),
    anyDue: connection.prepare(
      "SELECT 1 FROM notifications WHERE state = 'waiting' AND due_at <= ?1 AND lease_until <= ?1 LIMIT 1",
    ),
    claim: claim("", "due_at, seq"),
    claimOperator: claim("tenant IS NULL AND", "urgent DESC, due_at, seq"),
    claimTurn: claim("tenant > ?7 AND", "tenant, urgent DESC, due_at, seq"),
    ...prepareAddressStatements(connection),
    settle: connection.prepare(
      `UPDATE notifications SET state = ?, attempts = ?, due_at = ?, ended_at = ?, error = ?, event = ?, holder = NULL,
       lease_until = 0 WHERE id = ? AND holder = ? AND state = 'waiting'`,
    ),
    list: connection.prepare(listSql("?1 IS NULL")),
    listOfTenant: connection.prepare(listSql("tenant IS ?1")),
    waiting: connection.prepare("SELECT count(*), min(due_at) FROM notifications WHERE state = 'waiting'"),
    episodes: connection.prepare("SELECT document FROM failure_episodes ORDER BY webhook"),
    saveEpisode: connection.prepare(
      `INSERT INTO failure_episodes VALUES (?, ?)
       ON CONFLICT (webhook) DO UPDATE SET document = excluded.document`,
    ),
    endEpisode: connection.prepare("DELETE FROM failure_episodes WHERE webhook = ?"),
    failing: connection.prepare(
      `SELECT webhook, health FROM webhook_states
       WHERE instr(health, '"failingSince":null') = 0 AND webhook > ? ORDER BY webhook LIMIT ?`,
    ),
    forgetEvents: connection.prepare(
      `DELETE FROM operational_events WHERE seq IN
         (SELECT seq FROM operational_events WHERE relayed_at < ? LIMIT ?)`,
    ),
    forgetNotifications: connection.prepare(
      "DELETE FROM notifications WHERE seq IN (SELECT seq FROM notifications WHERE ended_at < ? LIMIT ?)",
    ),
    forgetCounts: connection.prepare(
      `DELETE FROM notification_counts WHERE (subject, since) IN
         (SELECT subject, since FROM notification_counts WHERE since < ? LIMIT ?)`,
    ),
  };
}

/** Consents of recipients, and the number of sent messages. */
function prepareAddressStatements(connection: Connection) {
  return {
    consents: connection.prepare(
      `SELECT ${consentColumns} FROM mail_addresses a
       WHERE tenant = ? AND address IN (SELECT value FROM json_each(?))`,
    ),
    address: connection.prepare(`SELECT ${consentColumns}, a.tenant FROM mail_addresses a WHERE id = ?`),
    rememberAddress: connection.prepare(
      "INSERT INTO mail_addresses (tenant, address, id, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    ),
    unconfirmed: connection.prepare(
      `SELECT count(*), count(*) FILTER (WHERE created_at >= ?) FROM mail_addresses
       WHERE tenant = ? AND confirmed_at IS NULL`,
    ),
    confirmationSent: connection.prepare("UPDATE mail_addresses SET confirmation_sent_at = ? WHERE id = ?"),
    subscribe: connection.prepare(
      "UPDATE mail_addresses SET confirmed_at = coalesce(confirmed_at, ?), unsubscribed_at = NULL WHERE id = ?",
    ),
    unsubscribe: connection.prepare(
      "UPDATE mail_addresses SET unsubscribed_at = coalesce(unsubscribed_at, ?) WHERE id = ?",
    ),
    count: connection.prepare(
      `INSERT INTO notification_counts (subject, since, count) VALUES (?, ?, 1)
       ON CONFLICT (subject, since) DO UPDATE SET count = count + 1 RETURNING count`,
    ),
    counted: connection.prepare("SELECT count FROM notification_counts WHERE subject = ? AND since = ?"),
  };
}
