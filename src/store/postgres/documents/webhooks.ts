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
  type StoredKey,
  webhookChange,
} from "../../webhook-changes.ts";
import { numbers, texts } from "../driver/columns.ts";
import type { Database, Runner } from "../driver/database.ts";
import { writeAudit } from "./audit.ts";
import { writeOperationalEvents } from "./notification-queue.ts";

interface WrittenEntry {
  readonly webhookId: string;
  readonly entry: WebhookHistoryEntry;
}

/**
 * Skips possible repeats that are already stored, and entries of deleted webhooks; then removes entries beyond the
 * limit.
 */
export async function writeHistory(
  runner: Runner,
  written: readonly WrittenEntry[],
  { mayRepeat }: { readonly mayRepeat: boolean },
): Promise<void> {
  if (written.length === 0) return;
  const webhookIds = written.map(({ webhookId }) => webhookId);
  await runner.rows(
    `INSERT INTO posthorn.webhook_history (webhook, at, kind, revision, document)
     SELECT g.webhook, g.at, g.kind, g.revision, g.document
     FROM unnest($1::text[], $2::bigint[], $3::text[], $4::int[], $5::text[]) WITH ORDINALITY
       AS g (webhook, at, kind, revision, document, place)
     WHERE EXISTS (SELECT FROM posthorn.webhooks w WHERE w.id = g.webhook AND w.deleted_at IS NULL)
       AND (NOT $6::boolean OR NOT EXISTS (SELECT FROM posthorn.webhook_history h
         WHERE h.webhook = g.webhook AND h.at = g.at AND h.kind = g.kind))
     ORDER BY g.place`,
    [
      texts(webhookIds),
      numbers(written.map(({ entry }) => entry.at)),
      texts(written.map(({ entry }) => entry.kind)),
      numbers(written.map(({ entry }) => entry.revision)),
      texts(written.map(({ entry }) => historyDocument(entry))),
      mayRepeat,
    ],
  );
  for (const revision of ["IS NULL", "IS NOT NULL"])
    await runner.rows(
      `DELETE FROM posthorn.webhook_history h USING unnest($1::text[]) AS g (webhook)
       WHERE h.webhook = g.webhook AND h.revision ${revision} AND h.seq <=
         (SELECT o.seq FROM posthorn.webhook_history o WHERE o.webhook = g.webhook AND o.revision ${revision}
          ORDER BY o.seq DESC LIMIT 1 OFFSET ${historyEntriesMax})`,
      [texts([...new Set(webhookIds)])],
    );
}

async function readHistory(
  runner: Runner,
  { webhookId, revisionsOnly, page }: WebhookHistoryQuery,
): Promise<Page<StoredHistoryEntry>> {
  const rows = await runner.rows<HistoryRow>(
    `SELECT seq, document FROM posthorn.webhook_history
     WHERE webhook = $1 AND seq < $2 AND (NOT $3::boolean OR revision IS NOT NULL) ORDER BY seq DESC LIMIT $4 OFFSET $5`,
    [webhookId, page.before ?? Number.MAX_SAFE_INTEGER, revisionsOnly, page.limit + 1, page.offset],
  );
  return historyPage(rows, page);
}

type OwnedSecretRow = [...SecretRow, owner: string];

const selectWebhooks = `SELECT w.id, w.document, s.webhook, s.paused_until, s.pause_reason, s.last_success_at, s.circuit,
    s.health FROM posthorn.webhooks w LEFT JOIN posthorn.webhook_states s ON s.webhook = w.id
    WHERE w.deleted_at IS NULL`;

/** Webhooks are stored as JSON documents: they are all read at start and never searched. */
export class PostgresWebhooks implements WebhookStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  save(webhook: Webhook, given: SavedBeside = {}): Promise<Webhook> {
    const { id, tenantId } = webhook;
    const { secrets } = given;
    return this.#database.transaction(async (transaction) => {
      // The lock serialises changes and the deletion.
      const [row] = await transaction.rows<[document: string, deletedAt: number | null]>(
        "SELECT document, deleted_at FROM posthorn.webhooks WHERE id = $1 FOR UPDATE",
        [id],
      );
      const [document = null, deletedAt = null] = row ?? [];
      const keys = secrets === undefined ? [] : await storedKeys(transaction, id);
      const { saved, entries, beside } = webhookChange(webhook, document, keys, given);
      await transaction.rows(
        `INSERT INTO posthorn.webhooks (id, tenant, document) VALUES ($1, $2, $3)
         ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, document = excluded.document`,
        [id, tenantId, JSON.stringify(saved)],
      );
      // A change that races with the deletion must not restore secrets.
      if (deletedAt === null) {
        const owner = { kind: secretOwners.webhook, id };
        if (secrets !== undefined) await replaceSecrets(transaction, owner, secrets);
        const written = entries.map((entry) => ({ webhookId: id, entry }));
        await writeHistory(transaction, written, { mayRepeat: false });
      }
      await writeBeside(transaction, beside);
      return saved;
    });
  }

  history(query: WebhookHistoryQuery): Promise<Page<StoredHistoryEntry>> {
    return readHistory(this.#database, query);
  }

  async delete(
    query: { readonly id: string; readonly deletedAt: number },
    beside: WrittenBeside = {},
  ): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      await transaction.rows(
        "UPDATE posthorn.webhooks SET deleted_at = $2, cancel_due = true WHERE id = $1 AND deleted_at IS NULL",
        [query.id, query.deletedAt],
      );
      await transaction.rows("DELETE FROM posthorn.secrets WHERE owner_kind = $1 AND owner = $2", [
        secretOwners.webhook,
        query.id,
      ]);
      await transaction.rows("DELETE FROM posthorn.webhook_states WHERE webhook = $1", [query.id]);
      await writeBeside(transaction, beside);
      await transaction.rows("DELETE FROM posthorn.delivery_problems WHERE webhook = $1", [query.id]);
      await transaction.rows("DELETE FROM posthorn.webhook_history WHERE webhook = $1", [query.id]);
    });
  }

  async page(query: {
    readonly after: string | null;
    readonly limit: number;
  }): Promise<readonly StoredWebhook[]> {
    const rows = await this.#database.rows<WebhookRow>(
      `${selectWebhooks} AND w.seq > coalesce((SELECT seq FROM posthorn.webhooks WHERE id = $1), 0)
       ORDER BY w.seq LIMIT $2`,
      [query.after, query.limit],
    );
    return this.#toStored(rows);
  }

  async some(ids: readonly string[]): Promise<readonly StoredWebhook[]> {
    const sql = `${selectWebhooks} AND w.id = ANY ($1::text[])`;
    return this.#toStored(await this.#database.rows<WebhookRow>(sql, [texts(ids)]));
  }

  async #toStored(rows: readonly WebhookRow[]): Promise<readonly StoredWebhook[]> {
    const secrets = await this.#readSecrets(
      secretOwners.webhook,
      rows.map(([id]) => id),
    );
    return rows.map((row) => toStoredWebhook(row, secrets.get(row[0]) ?? []));
  }

  async saveTenantKeys(command: {
    readonly tenantId: string;
    readonly keys: readonly StoredSecret[];
  }): Promise<void> {
    const owner = { kind: secretOwners.tenant, id: command.tenantId };
    await this.#database.transaction((transaction) => replaceSecrets(transaction, owner, command.keys));
  }

  async tenantKeys(tenantId: string): Promise<readonly StoredSecret[]> {
    const found = await this.#readSecrets(secretOwners.tenant, [tenantId]);
    return found.get(tenantId) ?? [];
  }

  async findBySecretDigest(
    digest: string,
  ): Promise<{ readonly webhookId: string; readonly tenantId: string } | null> {
    const [row] = await this.#database.rows<[webhookId: string, tenantId: string]>(
      `SELECT w.id, w.tenant FROM posthorn.secrets s JOIN posthorn.webhooks w ON w.id = s.owner
       WHERE s.digest = $1 AND s.owner_kind = ${secretOwners.webhook} LIMIT 1`,
      [digest],
    );
    return row === undefined ? null : { webhookId: row[0], tenantId: row[1] };
  }

  async hasSecrets(): Promise<boolean> {
    const rows = await this.#database.rows("SELECT 1 FROM posthorn.secrets LIMIT 1");
    return rows.length > 0;
  }

  async deletedWithWork(): Promise<readonly string[]> {
    const rows = await this.#database.rows<[id: string]>(
      "SELECT id FROM posthorn.webhooks WHERE cancel_due ORDER BY seq",
    );
    return rows.map(([id]) => id);
  }

  async #readSecrets(
    kind: 0 | 1,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, readonly StoredSecret[]>> {
    const rows = await this.#database.rows<OwnedSecretRow>(
      `SELECT kind, ciphertext, digest, created_at, expires_at, owner FROM posthorn.secrets
       WHERE owner_kind = $1 AND owner = ANY ($2::text[]) ORDER BY owner, position`,
      [kind, texts(ids)],
    );
    const grouped = Map.groupBy(rows, (row) => row[5]);
    return new Map([...grouped].map(([owner, group]) => [owner, group.map((row) => toSecret(row))]));
  }
}

async function writeBeside(transaction: Runner, { audit, events }: WrittenBeside): Promise<void> {
  await writeAudit(transaction, audit);
  await writeOperationalEvents(transaction, events);
}

async function storedKeys(runner: Runner, webhookId: string): Promise<readonly StoredKey[]> {
  const rows = await runner.rows<[kind: StoredKey["kind"], digest: string]>(
    "SELECT kind, digest FROM posthorn.secrets WHERE owner_kind = $1 AND owner = $2 ORDER BY position",
    [secretOwners.webhook, webhookId],
  );
  return rows.map(([kind, digest]) => ({ kind, digest }));
}

async function replaceSecrets(
  runner: Runner,
  owner: SecretOwner,
  secrets: readonly StoredSecret[],
): Promise<void> {
  await runner.rows("DELETE FROM posthorn.secrets WHERE owner_kind = $1 AND owner = $2", [
    owner.kind,
    owner.id,
  ]);
  for (const [position, secret] of secrets.entries()) {
    const { kind, ciphertext, digest, createdAt, expiresAt } = secret;
    await runner.rows("INSERT INTO posthorn.secrets VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", [
      owner.kind,
      owner.id,
      position,
      kind,
      Buffer.from(ciphertext),
      digest,
      createdAt,
      expiresAt,
    ]);
  }
}
