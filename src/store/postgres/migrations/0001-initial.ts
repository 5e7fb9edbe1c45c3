import type { PostgresMigration } from "../migrations.ts";

/**
 * The first schema. Its design for speed:
 *
 * - Waiting deliveries are in `queue`, a narrow table: claims and releases rewrite these rows and none that the history
 *   reads. The wide row of a delivery is written on publish and on settlement. No index contains what a settlement
 *   changes, so the second write stays within its page (HOT); half of each page is left free for it.
 * - Two partial indexes separate the free deliveries of a lane, in claim order, from the leased ones, by the end of the
 *   lease. A claim reads the head of the first and never touches leased rows.
 * - Ids, tenants, webhooks and types are numbers or UUIDs; the string table `words` holds the texts.
 * - Counters are spread over shards and added up on reading, so no commit waits for the counter of another one.
 *
 * `seq` is drawn in blocks of 1,024: a commit takes one number from a sequence, whatever its size. It is drawn while
 * the tenant's row in `tenant_sequences` is locked, so positions of one tenant follow the order of commits.
 *
 * Codes of states, priorities and so on are those of ../../codes.ts.
 */
export const initialSchema: PostgresMigration = {
  number: 1,
  name: "initial",
  sql: `
CREATE FUNCTION posthorn.refuse(message text) RETURNS boolean LANGUAGE plpgsql AS
  'BEGIN RAISE EXCEPTION ''%'', message USING ERRCODE = ''PH001''; END';

CREATE SEQUENCE posthorn.event_blocks;
CREATE SEQUENCE posthorn.delivery_blocks;
CREATE SEQUENCE posthorn.owners AS integer CYCLE;

CREATE TABLE posthorn.deployment (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  master_key_id text NOT NULL
);

CREATE TABLE posthorn.words (
  ref integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  word text COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE posthorn.lanes (
  ref integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook integer NOT NULL,
  ordering smallint NOT NULL,
  event_type integer NOT NULL, -- 0 when the lane holds every type
  UNIQUE (webhook, ordering, event_type)
);
CREATE TABLE posthorn.tenant_sequences (
  tenant integer PRIMARY KEY,
  last bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE posthorn.counters (
  shard smallint,
  kind smallint, -- 0 to 2 waiting by priority, 3 dead letters
  tenant integer, -- 0 where it does not matter
  value bigint NOT NULL,
  PRIMARY KEY (shard, kind, tenant)
) WITH (fillfactor = 50);

CREATE TABLE posthorn.events (
  seq bigint PRIMARY KEY,
  sequence_number bigint NOT NULL,
  occurred_at bigint NOT NULL,
  created_at bigint NOT NULL,
  id uuid NOT NULL,
  tenant integer NOT NULL,
  event_type integer NOT NULL,
  content_type integer NOT NULL,
  delivery_count integer NOT NULL, -- written with the event
  requeue_count integer NOT NULL,  -- written later
  priority smallint NOT NULL,
  raw boolean NOT NULL,
  source text,
  idempotency_key text,
  body bytea
);
CREATE INDEX events_id ON posthorn.events (id);
CREATE INDEX events_tenant ON posthorn.events (tenant, seq);
CREATE INDEX events_created ON posthorn.events USING brin (created_at) WITH (autosummarize = on);

CREATE TABLE posthorn.dedup_keys (
  tenant integer,
  key text COLLATE "C",
  event uuid NOT NULL,
  fingerprint text,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, key)
);
CREATE INDEX dedup_keys_expiry ON posthorn.dedup_keys (expires_at);

CREATE TABLE posthorn.deliveries (
  seq bigint PRIMARY KEY,
  event bigint NOT NULL,
  created_at bigint NOT NULL,
  due_at bigint NOT NULL,
  first_attempt_at bigint,
  completed_at bigint,
  id uuid NOT NULL,
  superseded_by uuid,
  tenant integer NOT NULL,
  webhook integer NOT NULL,
  lane integer NOT NULL,
  attempt_count integer NOT NULL DEFAULT 0,
  attempt_last integer NOT NULL DEFAULT 0, -- the highest number in attempts: none is written twice (C-40)
  state smallint NOT NULL,
  priority smallint NOT NULL,
  origin smallint NOT NULL,
  format smallint NOT NULL,
  category smallint,
  reason text
) WITH (fillfactor = 50);
CREATE INDEX deliveries_id ON posthorn.deliveries (id);
CREATE INDEX deliveries_event ON posthorn.deliveries (event, seq);
CREATE INDEX deliveries_webhook ON posthorn.deliveries (webhook, seq);
CREATE INDEX deliveries_tenant ON posthorn.deliveries (tenant, seq);
CREATE INDEX deliveries_created ON posthorn.deliveries USING brin (created_at) WITH (autosummarize = on);

-- Every waiting delivery, and only those.
CREATE TABLE posthorn.queue (
  delivery bigint PRIMARY KEY,
  rank bigint NOT NULL, -- place in the lane (../../rank.ts)
  lease_until bigint,
  lane integer NOT NULL,
  owner integer, -- the opening of the store that holds the lease; null while it is free
  fence integer NOT NULL,
  bytes integer NOT NULL, -- of the event's body
  attempts integer NOT NULL, -- attempt_count of the delivery when it was put here
  priority smallint NOT NULL,
  ordered boolean NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX queue_free ON posthorn.queue (lane, rank, delivery) WHERE owner IS NULL;
CREATE INDEX queue_leased ON posthorn.queue (lane, lease_until) WHERE owner IS NOT NULL;

CREATE TABLE posthorn.dead_letters (
  delivery bigint PRIMARY KEY,
  tenant integer NOT NULL
);
CREATE INDEX dead_letters_tenant ON posthorn.dead_letters (tenant, delivery);

-- By month (WDS-222). Partitions are made ahead and dropped by upkeep; a row that no month takes is not lost.
CREATE TABLE posthorn.attempts (
  delivery bigint NOT NULL,
  executed_at bigint NOT NULL,
  scheduled_at bigint NOT NULL,
  next_retry_at bigint,
  duration_ms double precision NOT NULL,
  id uuid NOT NULL,
  webhook integer NOT NULL,
  number integer NOT NULL,
  status_code integer,
  outcome smallint NOT NULL,
  category smallint,
  state_unknown boolean NOT NULL,
  response_sample text,
  error_message text,
  PRIMARY KEY (delivery, number, executed_at)
) PARTITION BY RANGE (executed_at);
CREATE INDEX attempts_webhook ON posthorn.attempts (webhook, executed_at);
CREATE TABLE posthorn.attempts_rest PARTITION OF posthorn.attempts DEFAULT;

-- How far upkeep has come (sweeps.ts).
CREATE TABLE posthorn.sweeps (name text COLLATE "C" PRIMARY KEY, floor bigint NOT NULL);

CREATE TABLE posthorn.webhooks (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  tenant text NOT NULL,
  deleted_at bigint,
  cancel_due boolean NOT NULL DEFAULT false,
  document text NOT NULL
);
CREATE INDEX webhooks_cancel ON posthorn.webhooks (seq) WHERE cancel_due;
CREATE TABLE posthorn.webhook_states (
  webhook text COLLATE "C" PRIMARY KEY,
  paused_until bigint,
  pause_reason text,
  last_success_at bigint,
  circuit text,
  health text
) WITH (fillfactor = 70);
CREATE TABLE posthorn.secrets (
  owner_kind smallint, -- 0 webhook, 1 tenant
  owner text COLLATE "C",
  position integer,
  kind text NOT NULL,
  ciphertext bytea NOT NULL,
  digest text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  PRIMARY KEY (owner_kind, owner, position)
);
CREATE INDEX secrets_digest ON posthorn.secrets (digest);

CREATE TABLE posthorn.tenants (id text COLLATE "C" PRIMARY KEY, document text NOT NULL);
CREATE TABLE posthorn.api_keys (id text COLLATE "C" PRIMARY KEY, expires_at bigint, document text NOT NULL);
CREATE TABLE posthorn.event_types (
  tenant text COLLATE "C",
  name text COLLATE "C",
  document text NOT NULL,
  PRIMARY KEY (tenant, name)
);
CREATE TABLE posthorn.idempotency (
  scope text COLLATE "C",
  key text COLLATE "C",
  fingerprint text NOT NULL,
  claim_until bigint NOT NULL,
  expires_at bigint NOT NULL,
  status integer, -- null while the call runs
  body text,
  PRIMARY KEY (scope, key)
);
CREATE INDEX idempotency_expiry ON posthorn.idempotency (expires_at);
CREATE TABLE posthorn.operations (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  tenant text,
  finished boolean NOT NULL,
  document text NOT NULL
);
CREATE INDEX operations_unfinished ON posthorn.operations (seq) WHERE NOT finished;
`,
};
