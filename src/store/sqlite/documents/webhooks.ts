import type { StatementSync } from "node:sqlite";
import type { WebhookHistoryEntry } from "../../../domain/webhook-history.ts";
import type { Webhook } from "../../../domain/webhook.ts";
import type { Page } from "../../../ports/store.ts";
import type {
  SavedBeside,
  StoredHistoryEntry,
  StoredSecret,
  StoredWebhook,
  WebhookHistoryQuery,
  WebhookStore,
  WrittenBeside,
} from "../../../ports/store/webhooks.ts";
import {
  type SecretOwner,
  secretOwners,
  type SecretRow,
  toSecret,
  toStoredWebhook,
  type WebhookRow,
} from "../../document-rows.ts";
import {
  historyDocument,
  historyEntriesMax,
  historyPage,
  type HistoryRow,
  webhookChange,
} from "../../webhook-changes.ts";
import type { Connection } from "../driver/connection.ts";
import type { StoreState } from "../state.ts";
import type { AuditRows } from "./audit.ts";
import type { NotificationRows } from "./notification-queue.ts";
import type { ProblemWriter } from "./problems.ts";

/** The history of webhooks. Writes only inside a write. */
export class HistoryRows {
  readonly #connection: Connection;
  readonly #insert: StatementSync;
  readonly #known: StatementSync;
  readonly #prune: readonly StatementSync[];
  readonly #remove: StatementSync;
  readonly #page: StatementSync;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#insert = connection.prepare(
      "INSERT INTO webhook_history (webhook, at, kind, revision, document) VALUES (?, ?, ?, ?, ?)",
    );
    this.#known = connection.prepare(
      `SELECT 1 FROM webhooks w WHERE w.id = ?1 AND w.deleted_at IS NULL
       AND NOT EXISTS (SELECT 1 FROM webhook_history WHERE webhook = ?1 AND at = ?2 AND kind = ?3)`,
    );
    this.#prune = ["IS NULL", "IS NOT NULL"].map((revision) =>
      connection.prepare(
        `DELETE FROM webhook_history WHERE webhook = ?1 AND revision ${revision} AND seq <=
           (SELECT seq FROM webhook_history WHERE webhook = ?1 AND revision ${revision}
            ORDER BY seq DESC LIMIT 1 OFFSET ${historyEntriesMax})`,
      ),
    );
    this.#remove = connection.prepare("DELETE FROM webhook_history WHERE webhook = ?");
    this.#page = connection.prepare(
      `SELECT seq, document FROM webhook_history WHERE webhook = ? AND seq < ? AND (? = 0 OR revision IS NOT NULL)
       ORDER BY seq DESC LIMIT ? OFFSET ?`,
    );
  }

  write(webhookId: string, entries: readonly WebhookHistoryEntry[]): void {
    if (entries.length === 0) return;
    for (const entry of entries)
      this.#insert.run(webhookId, entry.at, entry.kind, entry.revision, historyDocument(entry));
    for (const statement of this.#prune) statement.run(webhookId);
  }

  /** Entries may have been written before, and their webhook may be deleted. */
  writeMoves(webhookId: string, moves: readonly WebhookHistoryEntry[]): void {
    const isNew = ({ at, kind }: WebhookHistoryEntry): boolean =>
      this.#known.get(webhookId, at, kind) !== undefined;
    this.write(webhookId, moves.filter(isNew));
  }

  removeOf(webhookId: string): void {
    this.#remove.run(webhookId);
  }

  page({ webhookId, revisionsOnly, page }: WebhookHistoryQuery): Page<StoredHistoryEntry> {
    const before = page.before ?? Number.MAX_SAFE_INTEGER;
    const rows = this.#connection.read(() =>
      this.#page.all(webhookId, before, revisionsOnly ? 1 : 0, page.limit + 1, page.offset),
    );
    return historyPage(rows as unknown as HistoryRow[], page);
  }
}

type StoredRow = [document: string, deletedAt: number | null];

const selectWebhooks = `SELECT w.id, w.document, s.webhook, s.paused_until, s.pause_reason, s.last_success_at, s.circuit,
    s.health FROM webhooks w LEFT JOIN webhook_states s ON s.webhook = w.id WHERE w.deleted_at IS NULL`;

/** Webhooks are stored as JSON documents: they are all read at start and never searched. */
export class SqliteWebhooks implements WebhookStore {
  readonly #state: StoreState;
  readonly #audit: AuditRows;
  readonly #notifications: NotificationRows;
  readonly #problems: ProblemWriter;
  readonly #history: HistoryRows;
  readonly #save: StatementSync;
  readonly #markDeleted: StatementSync;
  readonly #forgetState: StatementSync;
  readonly #page: StatementSync;
  readonly #some: StatementSync;
  readonly #stored: StatementSync;
  readonly #deleteSecrets: StatementSync;
  readonly #insertSecret: StatementSync;
  readonly #secrets: StatementSync;
  readonly #byDigest: StatementSync;
  readonly #anySecret: StatementSync;
  readonly #cancelDue: StatementSync;

  constructor(
    state: StoreState,
    rows: {
      readonly audit: AuditRows;
      readonly problems: ProblemWriter;
      readonly history: HistoryRows;
      readonly notifications: NotificationRows;
    },
  ) {
    this.#audit = rows.audit;
    this.#problems = rows.problems;
    this.#history = rows.history;
    this.#notifications = rows.notifications;
    const { connection } = state;
    this.#state = state;
    this.#save = connection.prepare(
      `INSERT INTO webhooks (id, tenant, document) VALUES (?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, document = excluded.document`,
    );
    this.#markDeleted = connection.prepare(
      "UPDATE webhooks SET deleted_at = ?, cancel_due = 1 WHERE id = ? AND deleted_at IS NULL",
    );
    this.#forgetState = connection.prepare("DELETE FROM webhook_states WHERE webhook = ?");
    this.#page = connection.prepare(
      `${selectWebhooks} AND w.seq > coalesce((SELECT seq FROM webhooks WHERE id = ?), 0) ORDER BY w.seq LIMIT ?`,
    );
    this.#some = connection.prepare(`${selectWebhooks} AND w.id IN (SELECT value FROM json_each(?))`);
    this.#stored = connection.prepare("SELECT document, deleted_at FROM webhooks WHERE id = ?");
    this.#deleteSecrets = connection.prepare("DELETE FROM secrets WHERE owner_kind = ? AND owner = ?");
    this.#insertSecret = connection.prepare("INSERT INTO secrets VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    this.#secrets = connection.prepare(
      `SELECT kind, ciphertext, digest, created_at, expires_at FROM secrets
       WHERE owner_kind = ? AND owner = ? ORDER BY position`,
    );
    this.#byDigest = connection.prepare(
      `SELECT w.id, w.tenant FROM secrets s JOIN webhooks w ON w.id = s.owner
       WHERE s.digest = ? AND s.owner_kind = ${secretOwners.webhook} LIMIT 1`,
    );
    this.#anySecret = connection.prepare("SELECT 1 FROM secrets LIMIT 1");
    this.#cancelDue = connection.prepare("SELECT id FROM webhooks WHERE cancel_due = 1 ORDER BY seq");
  }

  async save(webhook: Webhook, given: SavedBeside = {}): Promise<Webhook> {
    const { id, tenantId } = webhook;
    const { secrets } = given;
    return this.#state.connection.write(() => {
      const [document = null, deletedAt = null] = (this.#stored.get(id) ??
        []) as unknown as Partial<StoredRow>;
      const owner = { kind: secretOwners.webhook, id };
      const keys = secrets === undefined ? [] : this.#readSecrets(owner);
      const { saved, entries, beside } = webhookChange(webhook, document, keys, given);
      this.#save.run(id, tenantId, JSON.stringify(saved));
      // A change that races with the deletion must not restore secrets.
      if (deletedAt === null) {
        if (secrets !== undefined) this.#replaceSecrets(owner, secrets);
        this.#history.write(id, entries);
      }
      this.#writeBeside(beside);
      return saved;
    });
  }

  async history(query: WebhookHistoryQuery): Promise<Page<StoredHistoryEntry>> {
    return this.#history.page(query);
  }

  async delete(
    query: { readonly id: string; readonly deletedAt: number },
    beside: WrittenBeside = {},
  ): Promise<void> {
    this.#state.connection.write(() => {
      this.#writeBeside(beside);
      this.#markDeleted.run(query.deletedAt, query.id);
      this.#deleteSecrets.run(secretOwners.webhook, query.id);
      this.#forgetState.run(query.id);
      this.#problems.removeOf(query.id);
      this.#history.removeOf(query.id);
    });
  }

  #writeBeside({ audit, events }: WrittenBeside): void {
    this.#audit.write(audit);
    this.#notifications.writeEvents(events);
  }

  async page(query: {
    readonly after: string | null;
    readonly limit: number;
  }): Promise<readonly StoredWebhook[]> {
    return this.#state.connection.read(() =>
      (this.#page.all(query.after, query.limit) as unknown as WebhookRow[]).map((row) => this.#toStored(row)),
    );
  }

  async some(ids: readonly string[]): Promise<readonly StoredWebhook[]> {
    return this.#state.connection.read(() =>
      (this.#some.all(JSON.stringify(ids)) as unknown as WebhookRow[]).map((row) => this.#toStored(row)),
    );
  }

  async saveTenantKeys(command: {
    readonly tenantId: string;
    readonly keys: readonly StoredSecret[];
  }): Promise<void> {
    this.#state.connection.write(() =>
      this.#replaceSecrets({ kind: secretOwners.tenant, id: command.tenantId }, command.keys),
    );
  }

  async tenantKeys(tenantId: string): Promise<readonly StoredSecret[]> {
    return this.#state.connection.read(() => this.#readSecrets({ kind: secretOwners.tenant, id: tenantId }));
  }

  async findBySecretDigest(
    digest: string,
  ): Promise<{ readonly webhookId: string; readonly tenantId: string } | null> {
    const row = this.#state.connection.read(() => this.#byDigest.get(digest)) as unknown as
      | [webhookId: string, tenantId: string]
      | undefined;
    return row === undefined ? null : { webhookId: row[0], tenantId: row[1] };
  }

  async hasSecrets(): Promise<boolean> {
    return this.#state.connection.read(() => this.#anySecret.get()) !== undefined;
  }

  async deletedWithWork(): Promise<readonly string[]> {
    const rows = this.#state.connection.read(() => this.#cancelDue.all()) as unknown as [id: string][];
    return rows.map(([id]) => id);
  }

  #replaceSecrets(owner: SecretOwner, secrets: readonly StoredSecret[]): void {
    this.#deleteSecrets.run(owner.kind, owner.id);
    for (const [position, secret] of secrets.entries()) {
      const { kind, ciphertext, digest, createdAt, expiresAt } = secret;
      this.#insertSecret.run(owner.kind, owner.id, position, kind, ciphertext, digest, createdAt, expiresAt);
    }
  }

  #toStored(row: WebhookRow): StoredWebhook {
    return toStoredWebhook(row, this.#readSecrets({ kind: secretOwners.webhook, id: row[0] }));
  }

  #readSecrets(owner: SecretOwner): readonly StoredSecret[] {
    const rows = this.#secrets.all(owner.kind, owner.id) as unknown as SecretRow[];
    return rows.map((row) => toSecret(row));
  }
}
