import type { Migration } from "../../migrations.ts";

/**
 * The first schema. Three ideas keep a publish cheap:
 *
 * - A delivery that is leased when it is written (the normal case) gets no position in its lane: `rank` stays null
 *   until it is released, rescheduled or found at start. `tally.fresh_floor` bounds where such rows can be.
 * - History is listed through indexes on (seq >> 12, owner). Their insertions stay within the newest few pages, where
 *   an index on the owner alone would modify one random page for every webhook of a batch.
 * - Webhook ids, event types and other repeated strings are numbers here; the string table `words` holds the texts.
 *
 * `seq >> 12` is the chunk of chunks.ts: both must change together.
 */
export const initialSchema: Migration = {
  number: 1,
  name: "initial",
  sql: `
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE words (ref INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE);
CREATE TABLE lanes (
  ref INTEGER PRIMARY KEY,
  webhook INTEGER NOT NULL,
  ordering INTEGER NOT NULL,
  event_type INTEGER NOT NULL, -- 0 when the lane holds every type
  UNIQUE (webhook, ordering, event_type)
);

CREATE TABLE tally (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  waiting_high INTEGER NOT NULL,
  waiting_normal INTEGER NOT NULL,
  waiting_low INTEGER NOT NULL,
  event_last INTEGER NOT NULL,
  delivery_last INTEGER NOT NULL,
  fresh_floor INTEGER NOT NULL, -- no waiting delivery below has a null rank
  opens INTEGER NOT NULL
);
INSERT INTO tally VALUES (1, 0, 0, 0, 0, 0, 1, 0);
CREATE TABLE tenant_tallies (
  tenant INTEGER PRIMARY KEY,
  sequence_last INTEGER NOT NULL,
  dead_letters INTEGER NOT NULL
);

CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  tenant INTEGER NOT NULL,
  event_type INTEGER NOT NULL,
  sequence_number INTEGER NOT NULL,
  timestamp INTEGER NOT NULL,
  source TEXT,
  idempotency_key TEXT,
  priority INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  content_type INTEGER NOT NULL,
  delivery_first INTEGER NOT NULL,
  delivery_count INTEGER NOT NULL, -- written with the event, contiguous from delivery_first
  requeue_count INTEGER NOT NULL,  -- written later, listed in event_requeues
  body BLOB
);
CREATE INDEX events_id ON events (id);
CREATE INDEX events_tenant ON events (seq >> 12, tenant);
CREATE TABLE event_requeues (event INTEGER, delivery INTEGER, PRIMARY KEY (event, delivery)) WITHOUT ROWID;

CREATE TABLE dedup_keys (
  tenant INTEGER NOT NULL,
  key TEXT NOT NULL,
  event INTEGER NOT NULL,
  fingerprint TEXT,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
CREATE INDEX dedup_keys_expiry ON dedup_keys (expires_at);

CREATE TABLE deliveries (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  event INTEGER NOT NULL,
  tenant INTEGER NOT NULL,
  webhook INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  rank INTEGER, -- place in the lane; null when it has none: done, or a lease was taken as it was written
  state INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  origin INTEGER NOT NULL,
  attempt_count INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  first_attempt_at INTEGER,
  completed_at INTEGER,
  reason TEXT,
  category INTEGER,
  superseded_by TEXT
);
CREATE INDEX deliveries_id ON deliveries (id);
CREATE INDEX deliveries_owner ON deliveries (seq >> 12, tenant, webhook);
-- 3 is "exhausted" in codes.ts.
CREATE INDEX deliveries_dead ON deliveries (tenant) WHERE state = 3 AND superseded_by IS NULL;

-- Waiting deliveries in the order of their lanes, and for a while some that have ended (lane-queue.ts).
CREATE TABLE lane_entries (
  lane INTEGER,
  rank INTEGER,
  delivery INTEGER,
  PRIMARY KEY (lane, rank, delivery)
) WITHOUT ROWID;

-- key = delivery << 16 | number: unique per executed attempt (C-40) and in delivery order without a second index.
CREATE TABLE attempts (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  outcome INTEGER NOT NULL,
  unknown INTEGER NOT NULL,
  category INTEGER,
  status_code INTEGER,
  response_sample TEXT,
  error_message TEXT,
  duration_ms REAL NOT NULL,
  scheduled_at INTEGER NOT NULL,
  executed_at INTEGER NOT NULL,
  next_retry_at INTEGER
);

-- Which creation times a chunk of rows holds. The clock may jump, so order by seq alone does not tell.
CREATE TABLE chunks (
  kind INTEGER, -- 0 events, 1 deliveries
  chunk INTEGER,
  created_min INTEGER NOT NULL,
  created_max INTEGER NOT NULL,
  PRIMARY KEY (kind, chunk)
) WITHOUT ROWID;
CREATE TABLE sweeps (name TEXT PRIMARY KEY, floor INTEGER NOT NULL, cursor INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE webhooks (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  deleted_at INTEGER,
  cancel_due INTEGER NOT NULL DEFAULT 0,
  document TEXT NOT NULL
);
CREATE INDEX webhooks_cancel ON webhooks (seq) WHERE cancel_due = 1;
CREATE TABLE webhook_states (
  webhook TEXT PRIMARY KEY,
  paused_until INTEGER,
  pause_reason TEXT,
  last_success_at INTEGER,
  circuit TEXT,
  health TEXT
) WITHOUT ROWID;
CREATE TABLE secrets (
  owner_kind INTEGER, -- 0 webhook, 1 tenant
  owner TEXT,
  position INTEGER,
  kind TEXT NOT NULL,
  ciphertext BLOB NOT NULL,
  digest TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (owner_kind, owner, position)
) WITHOUT ROWID;
CREATE INDEX secrets_digest ON secrets (digest);

CREATE TABLE tenants (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE api_keys (id TEXT PRIMARY KEY, expires_at INTEGER, document TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE event_types (
  tenant TEXT,
  name TEXT,
  document TEXT NOT NULL,
  PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

CREATE TABLE idempotency (
  scope TEXT,
  key TEXT,
  fingerprint TEXT NOT NULL,
  claim_until INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  status INTEGER, -- null while the call runs
  body TEXT,
  PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

CREATE TABLE operations (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT,
  finished INTEGER NOT NULL,
  document TEXT NOT NULL
);
CREATE INDEX operations_unfinished ON operations (seq) WHERE finished = 0;
`,
};
