import type { PostgresMigration } from "./migrations.ts";

/**
 * The tables of the shared store. Their design for speed:
 *
 * - Waiting deliveries are in `queue`, a narrow table: claims and releases rewrite only its rows, and none that the
 *   history reads. The wide row of a delivery is written on publish and on settlement. No index contains columns that a
 *   settlement changes, so the second write stays within its page (HOT); half of each page is kept empty for it.
 * - Two partial indexes separate the unleased deliveries of a lane, in claim order, from the leased ones, ordered by the
 *   end of the lease. A claim reads the head of the first and never touches leased rows.
 * - Ids, tenants, webhooks and types are numbers or UUIDs; the table `strings` contains the strings.
 * - Counters are spread over shards and summed when read, so no commit waits for the counter of another one.
 * - Columns of equal size are adjacent, the widest first, to reduce padding.
 *
 * `seq` is drawn in blocks of 1,024: a commit takes one number from a sequence, regardless of its size. It is drawn while
 * the tenant's row in `tenant_sequences` is locked, so positions of one tenant follow the order of commits.
 *
 * Times are Unix milliseconds. A `document` is JSON; fields that a statement filters by or changes have columns. Codes
 * of states, priorities and so on are those of ../column-values.ts. Databases store a checksum of this text, comments
 * included. Tables that SQLite has too are explained in ../sqlite/schema.ts.
 */
export const schema: PostgresMigration = {
  number: 1,
  name: "schema",
  sql: `
-- Fails a transaction from within a statement, for conditions that are only known there.
CREATE FUNCTION posthorn.refuse(message text) RETURNS boolean LANGUAGE plpgsql AS
  'BEGIN RAISE EXCEPTION ''%'', message USING ERRCODE = ''PH001''; END';

CREATE SEQUENCE posthorn.event_blocks;
CREATE SEQUENCE posthorn.delivery_blocks;
-- Numbers of processes. One holds leases under its number for as long as it has the store open.
CREATE SEQUENCE posthorn.owners AS integer CYCLE;

-- The one row about this deployment.
CREATE TABLE posthorn.deployment (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  master_key_id text NOT NULL, -- of the key that every process must have
  digest_key bytea, -- sealed; shared by all processes
  id uuid NOT NULL DEFAULT gen_random_uuid() -- for data that is kept elsewhere, such as in Redis
);

CREATE TABLE posthorn.strings (
  ref integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  string text COLLATE "C" NOT NULL UNIQUE
);
CREATE TABLE posthorn.lanes (
  ref integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook integer NOT NULL, ordering smallint NOT NULL,
  event_type integer NOT NULL, -- 0 when the lane holds every type
  UNIQUE (webhook, ordering, event_type)
);

-- The last sequence number of each tenant. A publish locks its row.
CREATE TABLE posthorn.tenant_sequences (
  tenant integer PRIMARY KEY,
  sequence_last bigint NOT NULL
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
  sequence_number bigint NOT NULL, occurred_at bigint NOT NULL, created_at bigint NOT NULL,
  id uuid NOT NULL, tenant integer NOT NULL, event_type integer NOT NULL,
  content_type integer NOT NULL,
  delivery_count integer NOT NULL, -- written with the event
  requeue_count integer NOT NULL, -- written later
  priority smallint NOT NULL, raw boolean NOT NULL, source text, idempotency_key text, body bytea,
  trace bytea, relayed bytea
);
CREATE INDEX events_id ON posthorn.events (id);
CREATE INDEX events_tenant ON posthorn.events (tenant, seq);
CREATE INDEX events_created ON posthorn.events USING brin (created_at) WITH (autosummarize = on);

CREATE TABLE posthorn.dedup_keys (
  tenant integer, key text COLLATE "C", event uuid NOT NULL, fingerprint text,
  expires_at bigint NOT NULL,
  PRIMARY KEY (tenant, key)
);
CREATE INDEX dedup_keys_expiry ON posthorn.dedup_keys (expires_at);

-- Deliveries of large events that later transactions write. Their positions are drawn when they are written.
CREATE TABLE posthorn.fan_out_parts (
  event bigint, part integer, document text NOT NULL,
  PRIMARY KEY (event, part)
);

CREATE TABLE posthorn.deliveries (
  seq bigint PRIMARY KEY,
  event bigint NOT NULL, created_at bigint NOT NULL, due_at bigint NOT NULL,
  first_attempt_at bigint, completed_at bigint, id uuid NOT NULL, replayed_by uuid,
  tenant integer NOT NULL, webhook integer NOT NULL, lane integer NOT NULL,
  attempt_count integer NOT NULL DEFAULT 0,
  attempt_last integer NOT NULL DEFAULT 0, -- the highest number in attempts: none is written twice
  state smallint NOT NULL, priority smallint NOT NULL, origin smallint NOT NULL,
  format smallint NOT NULL, category smallint, reason text,
  -- The rest is null in most rows.
  late_lease_token integer, -- of a delivery that another process ended, until the lease owner reports
  replay_of uuid,
  order_position bigint, -- place in an ordered lane; null before the first retry: seq
  retried_at bigint,
  retried_attempts integer, -- attempt_count at that time
  retries text, -- JSON
  operation uuid, -- the last bulk operation that sent it again
  lease_token_last integer -- of a delivery that was given up or cancelled: a later lease gets a higher one
) WITH (fillfactor = 50);
CREATE INDEX deliveries_id ON posthorn.deliveries (id);
CREATE INDEX deliveries_event ON posthorn.deliveries (event, seq);
CREATE INDEX deliveries_webhook ON posthorn.deliveries (webhook, seq);
CREATE INDEX deliveries_tenant ON posthorn.deliveries (tenant, seq);
CREATE INDEX deliveries_created ON posthorn.deliveries USING brin (created_at) WITH (autosummarize = on);
CREATE INDEX deliveries_operation ON posthorn.deliveries (operation, seq) WHERE operation IS NOT NULL;

-- Every waiting delivery, and only those.
CREATE TABLE posthorn.queue (
  delivery bigint PRIMARY KEY,
  queue_position bigint NOT NULL, -- place in the lane (../column-values.ts)
  lease_until bigint, lane integer NOT NULL,
  owner integer, -- the opening of the store that holds the lease; null while it is free
  lease_token integer NOT NULL,
  bytes integer NOT NULL, -- of the event's body
  attempts integer NOT NULL, -- attempt_count of the delivery when it was put here
  priority smallint NOT NULL, ordered boolean NOT NULL, retried_at bigint
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX queue_free ON posthorn.queue (lane, queue_position, delivery) WHERE owner IS NULL;
CREATE INDEX queue_leased ON posthorn.queue (lane, lease_until) WHERE owner IS NOT NULL;
CREATE INDEX queue_retried ON posthorn.queue (delivery) WHERE retried_at IS NOT NULL;

-- Not a partial index of deliveries: no index of that table may contain what a settlement changes.
CREATE TABLE posthorn.dead_letters (delivery bigint PRIMARY KEY, tenant integer NOT NULL);
CREATE INDEX dead_letters_tenant ON posthorn.dead_letters (tenant, delivery);

-- By month. Upkeep creates partitions ahead and drops them; a row without a month goes to attempts_rest.
CREATE TABLE posthorn.attempts (
  delivery bigint NOT NULL, executed_at bigint NOT NULL, scheduled_at bigint NOT NULL,
  next_retry_at bigint, duration_ms double precision NOT NULL, id uuid NOT NULL,
  webhook integer NOT NULL, number integer NOT NULL, status_code integer, outcome smallint NOT NULL,
  category smallint, state_unknown boolean NOT NULL, response_sample text, error_message text,
  notes text,
  PRIMARY KEY (delivery, number, executed_at)
) PARTITION BY RANGE (executed_at);
CREATE INDEX attempts_webhook ON posthorn.attempts (webhook, executed_at);
CREATE TABLE posthorn.attempts_rest PARTITION OF posthorn.attempts DEFAULT;

CREATE TABLE posthorn.sweeps (name text COLLATE "C" PRIMARY KEY, floor bigint NOT NULL);

-- Live workers. A worker is dead when its row is gone; the foreign key frees its webhooks at the same moment.
CREATE TABLE posthorn.workers (
  worker integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  alive_until timestamptz NOT NULL, pool text COLLATE "C" NOT NULL DEFAULT 'default',
  token uuid NOT NULL DEFAULT gen_random_uuid() -- after a restore numbers are reused, tokens never
) WITH (fillfactor = 50);

-- Which worker owns which webhook.
CREATE TABLE posthorn.ownership (
  webhook integer PRIMARY KEY, -- its number in strings
  worker integer REFERENCES posthorn.workers ON DELETE SET NULL, owner_epoch bigint NOT NULL,
  rate_full_at double precision, -- state of the rate limit when the owner released the webhook; -1 if it did not
  rate_handed double precision -- the same when the owner acquired it
) WITH (fillfactor = 70);
CREATE INDEX ownership_worker ON posthorn.ownership (worker) WHERE worker IS NOT NULL;

-- Orders of other processes to the owner of a webhook, such as to close its circuit, until it has followed them.
CREATE TABLE posthorn.runtime_orders (
  ref integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook text COLLATE "C" NOT NULL, document text NOT NULL
);
CREATE INDEX runtime_orders_webhook ON posthorn.runtime_orders (webhook, ref);

-- Observations of endpoints by their owners, for processes that answer API calls. Not logged: owners report them again
-- after a crash.
CREATE UNLOGGED TABLE posthorn.endpoint_reports (
  webhook integer PRIMARY KEY, -- its number in strings
  owner_epoch bigint NOT NULL, document text NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_cost_delay = 0);

-- The leader of each kind of work that one process does for all, such as upkeep.
CREATE TABLE posthorn.leadership (
  name text COLLATE "C" PRIMARY KEY,
  owner text NOT NULL, until timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The latest announcements of configuration changes, for processes that cannot listen. SQLite has one process.
CREATE TABLE posthorn.config_changes (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  payload text NOT NULL -- of the notification
);

CREATE TABLE posthorn.webhooks (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE, tenant text NOT NULL, deleted_at bigint,
  cancel_due boolean NOT NULL DEFAULT false, document text NOT NULL
);
CREATE INDEX webhooks_cancel ON posthorn.webhooks (seq) WHERE cancel_due;

-- Failing webhooks have no index here: it would make every write of these rows more expensive.
CREATE TABLE posthorn.webhook_states (
  webhook text COLLATE "C" PRIMARY KEY,
  paused_until bigint, pause_reason text, last_success_at bigint, circuit text, health text
) WITH (fillfactor = 70);
CREATE TABLE posthorn.webhook_history (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  revision integer, -- null where the configuration stayed as it was
  webhook text COLLATE "C" NOT NULL, kind text NOT NULL, document text NOT NULL
);
CREATE INDEX webhook_history_webhook ON posthorn.webhook_history (webhook, seq);
CREATE TABLE posthorn.secrets (
  owner_kind smallint, -- 0 webhook, 1 tenant
  owner text COLLATE "C", position integer, kind text NOT NULL, ciphertext bytea NOT NULL,
  digest text COLLATE "C" NOT NULL, created_at bigint NOT NULL, expires_at bigint,
  PRIMARY KEY (owner_kind, owner, position)
);
CREATE INDEX secrets_digest ON posthorn.secrets (digest);

CREATE SEQUENCE posthorn.delivery_problem_positions;
CREATE TABLE posthorn.delivery_problems (
  id uuid PRIMARY KEY,
  position bigint NOT NULL DEFAULT nextval('posthorn.delivery_problem_positions'),
  muted_until bigint, last_seen bigint NOT NULL,
  state smallint NOT NULL, -- 0 noticed, 1 open, 2 recovering, 3 resolved
  webhook text COLLATE "C" NOT NULL, tenant text COLLATE "C" NOT NULL, document text NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX delivery_problems_position ON posthorn.delivery_problems (position);
CREATE INDEX delivery_problems_webhook ON posthorn.delivery_problems (webhook, position);
CREATE INDEX delivery_problems_unresolved ON posthorn.delivery_problems (webhook) WHERE state IN (1, 2);
CREATE INDEX delivery_problems_resting ON posthorn.delivery_problems (state, last_seen) WHERE state <> 1;

CREATE TABLE posthorn.tenants (
  id text COLLATE "C" PRIMARY KEY,
  document text NOT NULL,
  pool text COLLATE "C" NOT NULL DEFAULT 'default' -- of the workers that deliver
);
CREATE INDEX tenants_pool ON posthorn.tenants (pool) WHERE pool <> 'default';
CREATE TABLE posthorn.api_keys (id text COLLATE "C" PRIMARY KEY, expires_at bigint, document text NOT NULL);
CREATE INDEX api_keys_expiry ON posthorn.api_keys (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE posthorn.event_types (
  tenant text COLLATE "C", name text COLLATE "C", document text NOT NULL,
  PRIMARY KEY (tenant, name)
);

CREATE TABLE posthorn.gateway_sources (id text PRIMARY KEY, document text NOT NULL);
CREATE TABLE posthorn.gateway_connections (id text PRIMARY KEY, source text NOT NULL, document text NOT NULL);
CREATE TABLE posthorn.gateway_requests (
  id text PRIMARY KEY,
  tenant text NOT NULL, source text NOT NULL, received_at bigint NOT NULL, status int NOT NULL,
  outcome text NOT NULL, cause text, bookmark text, document text NOT NULL, body bytea
);
CREATE INDEX gateway_requests_source ON posthorn.gateway_requests (source, id);
CREATE INDEX gateway_requests_tenant ON posthorn.gateway_requests (tenant, id);
CREATE INDEX gateway_requests_notable ON posthorn.gateway_requests (id) WHERE outcome <> 'accepted' OR status >= 400;
CREATE INDEX gateway_requests_notable_source ON posthorn.gateway_requests (source, id) WHERE outcome <> 'accepted' OR status >= 400;
CREATE INDEX gateway_requests_notable_tenant ON posthorn.gateway_requests (tenant, id) WHERE outcome <> 'accepted' OR status >= 400;
CREATE INDEX gateway_requests_bookmark ON posthorn.gateway_requests (id) WHERE bookmark IS NOT NULL;
CREATE INDEX gateway_requests_body ON posthorn.gateway_requests (id) WHERE body IS NOT NULL AND bookmark IS NULL;
CREATE TABLE posthorn.gateway_held (
  connection text NOT NULL, request text NOT NULL, event text NOT NULL,
  PRIMARY KEY (connection, request)
);
CREATE INDEX gateway_held_request ON posthorn.gateway_held (request);
CREATE TABLE posthorn.gateway_answers (
  key text PRIMARY KEY,
  fingerprint text NOT NULL,
  claim_token text, -- of the running call; null once there is a document
  expires_at bigint NOT NULL, document text
);
CREATE INDEX gateway_answers_end ON posthorn.gateway_answers (expires_at);

CREATE TABLE posthorn.portal_sessions (
  id text PRIMARY KEY,
  tenant text NOT NULL, reference text, code_hash text NOT NULL UNIQUE,
  code_expires_at bigint NOT NULL, token_hash text UNIQUE, expires_at bigint NOT NULL,
  redeemed_at bigint, ended_at bigint, document text NOT NULL
);
CREATE INDEX portal_sessions_tenant ON posthorn.portal_sessions (tenant, reference);
CREATE INDEX portal_sessions_end ON posthorn.portal_sessions (expires_at);
CREATE TABLE posthorn.portal_settings (
  tenant text PRIMARY KEY, -- empty for the deployment
  document text NOT NULL
);
CREATE TABLE posthorn.portal_logos (
  tenant text NOT NULL, scheme text NOT NULL, media_type text NOT NULL, bytes bytea NOT NULL,
  PRIMARY KEY (tenant, scheme)
);

CREATE TABLE posthorn.operational_events (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key text COLLATE "C" NOT NULL UNIQUE, at bigint NOT NULL, relayed_at bigint,
  document text NOT NULL
);
CREATE INDEX operational_events_pending ON posthorn.operational_events (seq) WHERE relayed_at IS NULL;
CREATE INDEX operational_events_relayed ON posthorn.operational_events (relayed_at) WHERE relayed_at IS NOT NULL;
-- The document of a channel has its quiet hours as times of day, such as 22:00.
CREATE TABLE posthorn.notification_channels (
  id text COLLATE "C" PRIMARY KEY,
  tenant text, -- null: the operator's
  position int NOT NULL, document text NOT NULL, status text, address text COLLATE "C"
);
CREATE TABLE posthorn.notifications (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE, key text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL, tenant text, state text NOT NULL, due_at bigint NOT NULL,
  attempts int NOT NULL, lease_owner text, lease_until bigint NOT NULL, ended_at bigint, error text,
  event text, document text NOT NULL, urgent int NOT NULL DEFAULT 0,
  UNIQUE (key, channel)
);
CREATE INDEX notifications_waiting ON posthorn.notifications (due_at) WHERE state = 'waiting';
CREATE INDEX notifications_turns ON posthorn.notifications (tenant COLLATE "C", urgent DESC, due_at, seq)
  WHERE state = 'waiting';
CREATE INDEX notifications_ended ON posthorn.notifications (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX notifications_tenant ON posthorn.notifications (tenant, seq);
CREATE TABLE posthorn.notification_counts (
  subject text COLLATE "C" NOT NULL, since bigint NOT NULL, count int NOT NULL,
  PRIMARY KEY (subject, since)
);
CREATE INDEX notification_counts_since ON posthorn.notification_counts (since);
CREATE TABLE posthorn.mail_addresses (
  tenant text COLLATE "C" NOT NULL, address text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL UNIQUE, created_at bigint NOT NULL, confirmation_sent_at bigint,
  confirmed_at bigint, unsubscribed_at bigint,
  PRIMARY KEY (tenant, address)
);
CREATE INDEX mail_addresses_unconfirmed ON posthorn.mail_addresses (tenant, created_at) WHERE confirmed_at IS NULL;
CREATE TABLE posthorn.failure_episodes (webhook text COLLATE "C" PRIMARY KEY, document text NOT NULL);

CREATE TABLE posthorn.alert_rules (
  tenant text NOT NULL, -- empty: the operator's
  name text NOT NULL, document text NOT NULL,
  PRIMARY KEY (tenant, name)
);
CREATE TABLE posthorn.alerts (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  tenant text, -- null: about the installation
  rule text NOT NULL, state text NOT NULL, ended_at bigint, document text NOT NULL
);
CREATE INDEX alerts_ended ON posthorn.alerts (ended_at);
CREATE TABLE posthorn.alert_mutes (key text PRIMARY KEY, until bigint NOT NULL, document text NOT NULL);

CREATE TABLE posthorn.operations (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE, tenant text, finished boolean NOT NULL,
  document text NOT NULL, revision int NOT NULL DEFAULT 0
);
CREATE INDEX operations_unfinished ON posthorn.operations (seq) WHERE NOT finished;
CREATE TABLE posthorn.idempotency (
  scope text COLLATE "C", key text COLLATE "C", fingerprint text NOT NULL,
  claim_until bigint NOT NULL, expires_at bigint NOT NULL,
  status integer, -- null while the call runs
  body text,
  claim_token text COLLATE "C", -- of the running call; SQLite has one process and does not need it
  PRIMARY KEY (scope, key)
);
CREATE INDEX idempotency_expiry ON posthorn.idempotency (expires_at);
CREATE TABLE posthorn.audit_log (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL, tenant text, action text NOT NULL,
  actor text NOT NULL, -- ids and name, each between line feeds
  target text, document text NOT NULL
);

-- Statistics. No index contains what a write replaces, and pages have room for it (HOT). Not partitioned: upkeep
-- removes old rows in portions by the key, and a missing partition would refuse settlements.
CREATE TABLE posthorn.delivery_stats (
  bucket bigint, -- where it begins
  writer bigint, -- 0 where upkeep added up
  counted_to bigint NOT NULL,
  tenant integer, -- 0 for all
  subject integer, -- the webhook; 0 for all of the tenant
  part integer,
  step smallint, -- 0 minute, 1 hour, 2 day
  counts bytea NOT NULL,
  PRIMARY KEY (step, bucket, tenant, subject, writer, part)
) WITH (fillfactor = 60);
CREATE TABLE posthorn.event_stats (
  bucket bigint, writer bigint, counted_to bigint NOT NULL, tenant integer,
  subject integer, -- the type
  part integer, step smallint, counts bytea NOT NULL,
  PRIMARY KEY (step, bucket, tenant, subject, writer, part)
) WITH (fillfactor = 60);
CREATE TABLE posthorn.gauge_stats (
  bucket bigint, writer bigint, step smallint, document text NOT NULL,
  PRIMARY KEY (step, bucket, writer)
);
CREATE TABLE posthorn.stat_journal (
  writer bigint, number bigint, at bigint NOT NULL,
  part smallint, -- 0 publishes, 1 settlements, 2 late settlements
  facts bytea NOT NULL,
  written integer[], -- indexes of the facts that count, from 0; null for all of them
  PRIMARY KEY (writer, number, part)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE TABLE posthorn.stat_progress (step smallint PRIMARY KEY, done_until bigint NOT NULL);
`,
};
