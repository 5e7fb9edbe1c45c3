import { parseLossless } from "../../domain/json/lossless.ts";
import type { Webhook } from "../../domain/webhook.ts";
import {
  revisionAfter,
  type WebhookHistoryEntry,
  type WebhookKeyName,
  webhookHistory,
} from "../../domain/webhook-history.ts";
import type {
  SavedBeside,
  SecretKind,
  StoredHistoryEntry,
  StoredSecret,
  StoredWebhook,
  WebhookHistoryQuery,
  WebhookStore,
  WrittenBeside,
} from "../../ports/store/webhooks.ts";
import type { Page } from "../../ports/store.ts";
import { type RuntimeRow, toRuntimeState } from "../document-rows.ts";
import { eventCalls } from "./operational-events.ts";
import { auditCalls, type PlacedDocument, pageOf, type Sql } from "./sql.ts";
import { batch, type Call, rowsOf, sql } from "./statement.ts";

/** Maximum number of stored revisions per webhook, and of its other history entries. */
const historyEntriesMax = 100;

/** The owner kinds in the table of secrets. The numbers are part of the stored format. */
const ownerKinds = { webhook: 0, tenant: 1 } as const;
type Owner = readonly [kind: 0 | 1, id: string];

/** A webhook with the state of its endpoint; the state is null if none is stored. */
type WebhookRow = readonly [
  id: string,
  document: string,
  ...state: RuntimeRow | [null, null, null, null, null, null],
];
const webhookColumns = `w.id, w.document, s.webhook, s.paused_until, s.pause_reason, s.last_success_at, s.circuit, s.health
   FROM posthorn.webhooks AS w LEFT JOIN posthorn.webhook_states AS s ON s.webhook = w.id WHERE w.deleted_at IS NULL`;
const page = sql<WebhookRow>(
  `SELECT ${webhookColumns} AND w.seq > coalesce((SELECT seq FROM posthorn.webhooks WHERE id = $1), 0)
   ORDER BY w.seq LIMIT $2`,
);
const some = sql<WebhookRow>(`SELECT ${webhookColumns} AND w.id = ANY ($1::text[])`);
/** The row lock serialises changes and the deletion of a webhook. */
const stored = sql<readonly [document: string, deletedAt: number | null]>(
  "SELECT document, deleted_at FROM posthorn.webhooks WHERE id = $1 FOR UPDATE",
);
const save = sql(
  `INSERT INTO posthorn.webhooks (id, tenant, document) VALUES ($1, $2, $3)
   ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, document = excluded.document`,
);
const markDeleted = sql(
  "UPDATE posthorn.webhooks SET deleted_at = $1, cancel_due = true WHERE id = $2 AND deleted_at IS NULL",
);
const deleteState = sql("DELETE FROM posthorn.webhook_states WHERE webhook = $1");
const deleteProblems = sql("DELETE FROM posthorn.delivery_problems WHERE webhook = $1");
const deleteHistory = sql("DELETE FROM posthorn.webhook_history WHERE webhook = $1");
const deletedWithWork = sql<readonly [id: string]>(
  "SELECT id FROM posthorn.webhooks WHERE cancel_due = true ORDER BY seq",
);
const history = sql<PlacedDocument>(
  `SELECT seq, document FROM posthorn.webhook_history
   WHERE webhook = $1 AND seq < $2 AND (NOT $3::boolean OR revision IS NOT NULL) ORDER BY seq DESC LIMIT $4 OFFSET $5`,
);

type SecretRow = readonly [
  ...[owner: string, kind: StoredSecret["kind"], ciphertext: Uint8Array],
  ...[digest: string, createdAt: number, expiresAt: number | null],
];
const secretsOf = sql<SecretRow>(
  `SELECT owner, kind, ciphertext, digest, created_at, expires_at FROM posthorn.secrets
   WHERE owner_kind = $1 AND owner = ANY ($2::text[]) ORDER BY owner, position`,
);
const keysOf = sql<readonly [StoredKey["kind"], string]>(
  "SELECT kind, digest FROM posthorn.secrets WHERE owner_kind = $1 AND owner = $2 ORDER BY position",
);
const deleteSecrets = sql("DELETE FROM posthorn.secrets WHERE owner_kind = $1 AND owner = $2");
const insertSecret = sql(
  `INSERT INTO posthorn.secrets (owner_kind, owner, position, kind, ciphertext, digest, created_at, expires_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
);
const byDigest = sql<readonly [webhookId: string, tenantId: string]>(
  `SELECT w.id, w.tenant FROM posthorn.secrets AS s JOIN posthorn.webhooks AS w ON w.id = s.owner
   WHERE s.digest = $1 AND s.owner_kind = ${ownerKinds.webhook} LIMIT 1`,
);
const anySecret = sql("SELECT 1 FROM posthorn.secrets LIMIT 1");

/** Webhooks are stored as JSON documents, because they are all read at startup and never searched. */
export class Webhooks implements WebhookStore {
  readonly #sql: Sql;

  constructor(events: Sql) {
    this.#sql = events;
  }

  save(webhook: Webhook, given: SavedBeside = {}): Promise<Webhook> {
    const { id, tenantId } = webhook;
    const { secrets } = given;
    const owner: Owner = [ownerKinds.webhook, id];
    return this.#sql.transaction(function* () {
      const [row] = yield* rowsOf(stored(id));
      const [document = null, deletedAt = null] = row ?? [];
      const keys = secrets === undefined ? [] : yield* rowsOf(keysOf(...owner));
      const storedKeys = keys.map(([kind, digest]) => ({ kind, digest }));
      const { saved, entries, beside } = webhookChange(webhook, document, storedKeys, given);
      const writes: Call[] = [save(id, tenantId, JSON.stringify(saved))];
      // A change that is concurrent with the deletion must not restore secrets.
      if (deletedAt === null) {
        if (secrets !== undefined) writes.push(...secretCalls(owner, secrets));
        const written = entries.map((entry) => ({ webhookId: id, entry }));
        writes.push(...historyCalls(written, false));
      }
      yield [...writes, ...auditCalls(beside.audit), ...eventCalls(beside.events)];
      return saved;
    });
  }

  async history({
    webhookId,
    revisionsOnly,
    page: asked,
  }: WebhookHistoryQuery): Promise<Page<StoredHistoryEntry>> {
    const before = asked.before ?? Number.MAX_SAFE_INTEGER;
    const rows = await this.#sql.read(
      history(webhookId, before, revisionsOnly, asked.limit + 1, asked.offset),
    );
    return pageOf(rows, asked.limit, toHistoryEntry);
  }

  async delete(id: string, deletedAt: number, { audit, events }: WrittenBeside = {}): Promise<void> {
    await this.#sql.run([
      markDeleted(deletedAt, id),
      deleteSecrets(ownerKinds.webhook, id),
      deleteState(id),
      ...auditCalls(audit),
      ...eventCalls(events),
      deleteProblems(id),
      deleteHistory(id),
    ]);
  }

  async page(after: string | null, limit: number): Promise<readonly StoredWebhook[]> {
    return this.#withSecrets(await this.#sql.read(page(after, limit)));
  }

  async some(ids: readonly string[]): Promise<readonly StoredWebhook[]> {
    return this.#withSecrets(await this.#sql.read(some(ids)));
  }

  async #withSecrets(rows: readonly WebhookRow[]): Promise<readonly StoredWebhook[]> {
    const ids = rows.map(([id]) => id);
    const secrets = await this.#secretsOf(ownerKinds.webhook, ids);
    return rows.map((row) => toStoredWebhook(row, secrets.get(row[0]) ?? []));
  }

  async saveTenantKeys(tenantId: string, keys: readonly StoredSecret[]): Promise<void> {
    await this.#sql.run(secretCalls([ownerKinds.tenant, tenantId], keys));
  }

  async tenantKeys(tenantId: string): Promise<readonly StoredSecret[]> {
    const found = await this.#secretsOf(ownerKinds.tenant, [tenantId]);
    return found.get(tenantId) ?? [];
  }

  async findBySecretDigest(digest: string) {
    const [row] = await this.#sql.read(byDigest(digest));
    return row === undefined ? null : { webhookId: row[0], tenantId: row[1] };
  }

  async hasSecrets(): Promise<boolean> {
    const rows = await this.#sql.read(anySecret());
    return rows.length > 0;
  }

  async deletedWithWork(): Promise<readonly string[]> {
    const rows = await this.#sql.read(deletedWithWork());
    return rows.map(([id]) => id);
  }

  async #secretsOf(
    kind: Owner[0],
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, readonly StoredSecret[]>> {
    const rows = await this.#sql.read(secretsOf(kind, ids));
    const grouped = Map.groupBy(rows, ([owner]) => owner);
    return new Map([...grouped].map(([owner, group]) => [owner, group.map(toSecret)]));
  }
}

/** Replaces the secrets of an owner. */
function secretCalls(owner: Owner, secrets: readonly StoredSecret[]): readonly Call[] {
  const inserts = secrets.map(({ kind, ciphertext, digest, createdAt, expiresAt }, position) =>
    insertSecret(...owner, position, kind, ciphertext, digest, createdAt, expiresAt),
  );
  return [deleteSecrets(...owner), ...inserts];
}

function toSecret([, kind, ciphertext, digest, createdAt, expiresAt]: SecretRow): StoredSecret {
  return { kind, ciphertext, digest, createdAt, expiresAt };
}

function toHistoryEntry(document: string, position: number): StoredHistoryEntry {
  return { ...(parseLossless(document) as WebhookHistoryEntry), position };
}

function toStoredWebhook(
  [, document, ...state]: WebhookRow,
  secrets: readonly StoredSecret[],
): StoredWebhook {
  const runtime = state[0] === null ? null : toRuntimeState(state);
  return { webhook: parseLossless(document) as Webhook, secrets, runtime };
}

const insert = sql(
  `INSERT INTO posthorn.webhook_history (webhook, at, kind, revision, document)
   SELECT g.webhook, g.at, g.kind, g.revision, g.document
   FROM unnest($2::int[], $3::text[], $4::bigint[], $5::text[], $6::int[], $7::text[])
     AS g (place, webhook, at, kind, revision, document)
   WHERE EXISTS (SELECT 1 FROM posthorn.webhooks AS w WHERE w.id = g.webhook AND w.deleted_at IS NULL)
     AND (NOT $1::boolean OR NOT EXISTS (SELECT 1 FROM posthorn.webhook_history AS h
       WHERE h.webhook = g.webhook AND h.at = g.at AND h.kind = g.kind))
   ORDER BY g.place`,
);

const prune = ["IS NULL", "IS NOT NULL"].map((revision) =>
  sql(
    `DELETE FROM posthorn.webhook_history WHERE seq IN (
       SELECT h.seq FROM unnest($1::text[]) AS g (webhook)
       JOIN posthorn.webhook_history AS h ON h.webhook = g.webhook
       WHERE h.revision ${revision} AND h.seq <= (
         SELECT o.seq FROM posthorn.webhook_history AS o WHERE o.webhook = g.webhook AND o.revision ${revision}
         ORDER BY o.seq DESC LIMIT 1 OFFSET ${historyEntriesMax}))`,
  ),
);

export interface WrittenEntry {
  readonly webhookId: string;
  readonly entry: WebhookHistoryEntry;
}

/**
 * Writes history entries, except those of deleted webhooks, and removes entries beyond the limit. Entries that may
 * already have been written are compared with the stored ones.
 */
export function historyCalls(written: readonly WrittenEntry[], mayRepeat: boolean): readonly Call[] {
  if (written.length === 0) return [];
  const rows = written.map(({ webhookId, entry }, place) => {
    const { at, kind, revision } = entry;
    return [place, webhookId, at, kind, revision, historyDocument(entry)];
  });
  const webhookIds = [...new Set(written.map(({ webhookId }) => webhookId))].map((id) => [id]);
  return [...batch(insert, rows, mayRepeat), ...prune.flatMap((statement) => batch(statement, webhookIds))];
}

export type StoredKey = Pick<StoredSecret, "kind" | "digest">;

interface WebhookChange {
  readonly saved: Webhook;
  readonly entries: readonly WebhookHistoryEntry[];
  readonly beside: WrittenBeside;
}

/** The webhook to store, with its revision, and the history entry of the change. */
function webhookChange(
  given: Webhook,
  /** Null for a new webhook. */ document: string | null,
  keys: readonly StoredKey[],
  { secrets, audit, events }: SavedBeside,
): WebhookChange {
  const before = document === null ? null : (parseLossless(document) as Webhook);
  const changedKeys = secrets === undefined ? [] : changedNames(keys, secrets);
  const keysChanged = changedKeys.length > 0;
  const saved = { ...given, revision: revisionAfter(given, before, keysChanged) };
  const at = audit?.at ?? given.updatedAt;
  const entries = webhookHistory(before, saved, changedKeys, at, audit?.actor ?? null);
  const told = typeof events === "function" ? events(saved) : (events ?? []);
  return { saved, entries, beside: { audit, events: told } };
}

const keyNames: Readonly<Record<SecretKind, WebhookKeyName>> = {
  symmetric: "secret",
  ed25519: "secret",
  bearer: "bearer_token",
  oauth2_client_secret: "oauth2.client_secret",
  credential_headers: "credential_headers",
  client_certificate: "client_certificate",
};

function changedNames(before: readonly StoredKey[], after: readonly StoredKey[]): readonly WebhookKeyName[] {
  const ofKind = (keys: readonly StoredKey[], kind: string): string =>
    keys.flatMap((key) => (key.kind === kind ? [key.digest] : [])).join();
  const kinds = Object.keys(keyNames) as SecretKind[];
  const changed = kinds.filter((kind) => ofKind(before, kind) !== ofKind(after, kind));
  return [...new Set(changed.map((kind) => keyNames[kind]))];
}

function historyDocument(entry: WebhookHistoryEntry): string {
  return JSON.stringify(entry, (_, value: unknown) =>
    typeof value === "string" && value.length > valueLengthMax
      ? `${value.slice(0, valueLengthMax)}… (${value.length} characters)`
      : value,
  );
}

const valueLengthMax = 1_024;
