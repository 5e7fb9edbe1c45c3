import type {
  KeptStretch,
  MovedKey,
  MovedKind,
  MovedPart,
  MovedRow,
  MovedValue,
} from "../ports/store/moving.ts";
import { storable } from "./column-values.ts";

/** Where the contents of a store were moved, and when (Unix milliseconds). */
export interface MovedTo {
  /** Contains no credentials. */
  readonly place: string;
  readonly at: number;
}

/** If this store were used, messages would be delivered twice, or only some of them would be delivered. */
class StoreMovedError extends Error {
  override readonly name = "StoreMovedError";
}

export function movedAway(store: string, { place, at }: MovedTo): StoreMovedError {
  return new StoreMovedError(
    `everything in ${store} was moved to ${place} on ${new Date(at).toISOString().slice(0, 16)}Z; serve from there, or, to ` +
      "return to the data as it was before the move, run: posthorn move --reopen",
  );
}

/** Error for a store whose contents were already moved: the move was repeated, or the store is no longer in service. */
export function movedAlready(store: string, { place, at }: MovedTo): StoreMovedError {
  return new StoreMovedError(
    `the move of ${store} is already complete: everything was moved to ${place} on ${new Date(at).toISOString().slice(0, 16)}Z. ` +
      `Serve from there; to return to the data of ${store} as it was before the move, run: posthorn move --reopen ${store}`,
  );
}

export function movingHere(store: string): StoreMovedError {
  return new StoreMovedError(
    `a move into ${store} is not complete: run the same posthorn move again to continue where it stopped`,
  );
}

export function noDatabaseIn(dataDir: string): StoreMovedError {
  return new StoreMovedError(`${dataDir} does not contain a Posthorn database`);
}

export function olderSchema(store: string): StoreMovedError {
  return new StoreMovedError(
    `${store} was last used by an older version: start this version on it once, then move`,
  );
}

/** Whether opening a move failed because the target is not empty. */
export function isTargetFull(error: unknown): boolean {
  return error instanceof StoreMovedError && error.message.endsWith(needsEmpty);
}

const needsEmpty = "a move needs an empty database";

export function holdsSomething(store: string, what: string): StoreMovedError {
  const name = what.split(" WHERE ")[0]?.replace("_", " ") ?? "";
  return new StoreMovedError(`${store} already contains ${name}: ${needsEmpty}`);
}

export function otherMoveInto(store: string, source: string): StoreMovedError {
  return new StoreMovedError(
    `a move from ${source} into ${store} has begun and is not complete: continue that one, or empty the database`,
  );
}

type Stored = string | number | bigint | boolean | Uint8Array | null;

/** Converts a stored row to the form that both stores read and write. */
export function movedRow(part: MovedPart, stored: readonly unknown[]): MovedRow {
  return Object.values(part.columns).map((kind, place) => movedValue(kind, stored[place] as Stored));
}

function movedValue(kind: MovedKind, value: Stored): MovedValue {
  if (value === null) return null;
  if (kind === "boolean") return Boolean(value);
  // SQLite stores fractions; PostgreSQL rounds them.
  if (kind === "integer") return Math.round(Number(value));
  if (kind === "text") return storable(String(value));
  return value as MovedValue;
}

/** A copied key range as both stores record it. */
export type KeptRow = [number: number, upTo: string, rows: number, digest: string, fingerprint: string];

/** Converts recorded rows to key ranges, in order. Each range begins where the previous one ends. */
export function keptStretches(rows: readonly KeptRow[]): readonly KeptStretch[] {
  let after: MovedKey | null = null;
  return rows.map(([number, upToText, count, digest, fingerprint]) => {
    const upTo = JSON.parse(upToText) as MovedKey;
    const stretch: KeptStretch = { number, after, upTo, rows: count, digest, fingerprint };
    after = upTo;
    return stretch;
  });
}

/**
 * Everything that is moved from one store to another, in the order in which it is moved: rows follow the rows that they
 * reference by number. Columns have the names used in PostgreSQL. All other data is derived from these rows, or belongs
 * to one store only; moved-parts.pg.test.ts checks every table of both stores.
 */
export const movedParts: readonly MovedPart[] = [
  part("strings", { ref: "integer" }, { string: "text" }),
  part("lanes", { ref: "integer" }, { webhook: "integer", ordering: "integer", event_type: "integer" }),
  part("tenants", { id: "text" }, { document: "text", pool: "text" }),
  part("api_keys", { id: "text" }, { expires_at: "integer", document: "text" }),
  part("event_types", { tenant: "text", name: "text" }, { document: "text" }),
  part(
    "webhooks",
    { seq: "integer" },
    { id: "text", tenant: "text", deleted_at: "integer", cancel_due: "boolean", document: "text" },
  ),
  part(
    "webhook_states",
    { webhook: "text" },
    {
      paused_until: "integer",
      pause_reason: "text",
      last_success_at: "integer",
      circuit: "text",
      health: "text",
    },
  ),
  part(
    "secrets",
    { owner_kind: "integer", owner: "text", position: "integer" },
    {
      kind: "text",
      ciphertext: "bytes",
      digest: "text",
      created_at: "integer",
      expires_at: "integer",
    },
  ),
  part("tenant_sequences", { tenant: "integer" }, { sequence_last: "integer" }),
  part(
    "events",
    { seq: "integer" },
    {
      sequence_number: "integer",
      occurred_at: "integer",
      created_at: "integer",
      id: "uuid",
      tenant: "integer",
      event_type: "integer",
      content_type: "integer",
      delivery_count: "integer",
      requeue_count: "integer",
      priority: "integer",
      raw: "boolean",
      source: "text",
      idempotency_key: "text",
      body: "bytes",
      trace: "bytes",
      relayed: "bytes",
    },
  ),
  part(
    "deliveries",
    { seq: "integer" },
    {
      event: "integer",
      created_at: "integer",
      due_at: "integer",
      first_attempt_at: "integer",
      completed_at: "integer",
      id: "uuid",
      replayed_by: "uuid",
      tenant: "integer",
      webhook: "integer",
      lane: "integer",
      attempt_count: "integer",
      state: "integer",
      priority: "integer",
      origin: "integer",
      format: "integer",
      category: "integer",
      reason: "text",
      replay_of: "uuid",
      order_position: "integer",
      retried_at: "integer",
      retried_attempts: "integer",
      retries: "text",
      operation: "uuid",
    },
  ),
  part(
    "attempts",
    { delivery: "integer", number: "integer" },
    {
      executed_at: "integer",
      scheduled_at: "integer",
      next_retry_at: "integer",
      duration_ms: "real",
      id: "uuid",
      webhook: "integer",
      status_code: "integer",
      outcome: "integer",
      category: "integer",
      state_unknown: "boolean",
      response_sample: "text",
      error_message: "text",
      notes: "text",
    },
  ),
  part(
    "dedup_keys",
    { tenant: "integer", key: "text" },
    { event: "uuid", fingerprint: "text", expires_at: "integer" },
  ),
  part(
    "idempotency",
    { scope: "text", key: "text" },
    {
      fingerprint: "text",
      claim_until: "integer",
      expires_at: "integer",
      status: "integer",
      body: "text",
    },
  ),
  part(
    "operations",
    { seq: "integer" },
    { id: "text", tenant: "text", finished: "boolean", document: "text", revision: "integer" },
  ),
  part(
    "audit_log",
    { seq: "integer" },
    {
      at: "integer",
      tenant: "text",
      action: "text",
      actor: "text",
      target: "text",
      document: "text",
    },
  ),
  statistics("delivery_stats"),
  statistics("event_stats"),
  part("gauge_stats", { step: "integer", bucket: "integer", writer: "integer" }, { document: "text" }),
  part("stat_progress", { step: "integer" }, { done_until: "integer" }),
  part(
    "operational_events",
    { seq: "integer" },
    { key: "text", at: "integer", relayed_at: "integer", document: "text" },
  ),
  part(
    "notification_channels",
    { id: "text" },
    { tenant: "text", position: "integer", document: "text", status: "text", address: "text" },
  ),
  part(
    "mail_addresses",
    { tenant: "text", address: "text" },
    {
      id: "text",
      created_at: "integer",
      confirmation_sent_at: "integer",
      confirmed_at: "integer",
      unsubscribed_at: "integer",
    },
  ),
  part("notification_counts", { subject: "text", since: "integer" }, { count: "integer" }),
  part(
    "notifications",
    { seq: "integer" },
    {
      id: "text",
      key: "text",
      channel: "text",
      tenant: "text",
      state: "text",
      due_at: "integer",
      attempts: "integer",
      lease_owner: "text",
      lease_until: "integer",
      ended_at: "integer",
      error: "text",
      event: "text",
      document: "text",
      urgent: "integer",
    },
  ),
  part("failure_episodes", { webhook: "text" }, { document: "text" }),
  part(
    "portal_sessions",
    { id: "text" },
    {
      tenant: "text",
      reference: "text",
      code_hash: "text",
      code_expires_at: "integer",
      token_hash: "text",
      expires_at: "integer",
      redeemed_at: "integer",
      ended_at: "integer",
      document: "text",
    },
  ),
  part(
    "delivery_problems",
    { id: "uuid" },
    {
      position: "integer",
      muted_until: "integer",
      last_seen: "integer",
      state: "integer",
      webhook: "text",
      tenant: "text",
      document: "text",
    },
  ),
  part(
    "webhook_history",
    { seq: "integer" },
    { webhook: "text", at: "integer", kind: "text", revision: "integer", document: "text" },
  ),
  part("alert_rules", { tenant: "text", name: "text" }, { document: "text" }),
  part(
    "alerts",
    { seq: "integer" },
    {
      id: "text",
      tenant: "text",
      rule: "text",
      state: "text",
      ended_at: "integer",
      document: "text",
    },
  ),
  part("alert_mutes", { key: "text" }, { until: "integer", document: "text" }),
  part("gateway_sources", { id: "text" }, { document: "text" }),
  part("gateway_connections", { id: "text" }, { source: "text", document: "text" }),
  part(
    "gateway_requests",
    { id: "text" },
    {
      tenant: "text",
      source: "text",
      received_at: "integer",
      status: "integer",
      outcome: "text",
      cause: "text",
      bookmark: "text",
      document: "text",
      body: "bytes",
    },
  ),
  part("gateway_held", { connection: "text", request: "text" }, { event: "text" }),
  part(
    "gateway_answers",
    { key: "text" },
    { fingerprint: "text", claim_token: "text", expires_at: "integer", document: "text" },
  ),
  part("portal_settings", { tenant: "text" }, { document: "text" }),
  part("portal_logos", { tenant: "text", scheme: "text" }, { media_type: "text", bytes: "bytes" }),
];

/**
 * A store with rows in one of these tables is in use. The tenants table does not count, because every server that was
 * started once has the default tenant.
 */
export const tellingTables = [
  "webhooks",
  "events",
  "api_keys",
  "event_types",
  "secrets",
  "gateway_sources",
  "tenants WHERE id <> 'default'",
];

/** Tables that are not moved, with the reason. */
export const unmovedTables: ReadonlyMap<string, string> = new Map([
  ["migrations", "each store has its own"],
  ["deployment", "each deployment has its own id; the digest key is handed over"],
  ["meta", "progress of a move"],
  ["counters", "counted again"],
  ["queue", "derived from waiting deliveries"],
  ["lane_entries", "derived from waiting deliveries"],
  ["fan_out_parts", "written before a store is handed over"],
  ["dead_letters", "derived from the deliveries"],
  ["event_requeues", "derived from the deliveries of an event"],
  ["chunks", "derived from events and deliveries"],
  ["gateway_requests_by_source", "derived from the gateway's log"],
  ["gateway_requests_unfiled", "derived from the gateway's log"],
  ["sweeps", "upkeep examines everything again"],
  ["stat_journal", "counted before a store is handed over"],
  ["tenant_counters", "is tenant_sequences in PostgreSQL"],
  ["attempts_rest", "a partition of attempts"],
  ["workers", "of running processes"],
  ["ownership", "of running processes"],
  ["runtime_orders", "of running processes"],
  ["leadership", "of running processes"],
  ["endpoint_reports", "of running processes"],
  ["config_changes", "of running processes"],
]);

/** Columns of moved tables that do not move, with the reason. */
export const unmovedColumns: ReadonlyMap<string, string> = new Map([
  ["deliveries.attempt_last", "derived from the attempts"],
  ["deliveries.late_lease_token", "of a running process"],
  ["deliveries.lease_token_last", "no process has older leases in the target"],
  ["deliveries.queue_position", "derived from the delivery"],
  ["events.delivery_first", "derived from the deliveries"],
  ["idempotency.claim_token", "of a running process"],
]);

type Columns = Readonly<Record<string, MovedKind>>;

function part(name: string, key: Columns, rest: Columns): MovedPart {
  return { name, columns: { ...key, ...rest }, keyLength: Object.keys(key).length };
}

function statistics(name: string): MovedPart {
  return part(
    name,
    {
      step: "integer",
      bucket: "integer",
      tenant: "integer",
      subject: "integer",
      writer: "integer",
      part: "integer",
    },
    { counted_to: "integer", counts: "bytes" },
  );
}
