import type { Migration } from "../migrations.ts";

/**
 * The tables of the embedded store. Three ideas keep a publish cheap:
 *
 * - A delivery that is leased on insertion (the normal case) gets no position in its lane: `queue_position` stays null
 *   until the delivery is released, rescheduled or found at startup. `counters.fresh_floor` bounds the positions of such
 *   rows.
 * - History is listed through indexes on (seq >> 12, owner). Their insertions stay within the newest few pages, whereas
 *   an index on the owner alone would modify one random page for every webhook of a batch. `seq >> 12` is the chunk of
 *   chunks.ts: both must be changed together.
 * - Webhook ids, event types and other repeated strings are numbers here; the table `strings` contains the strings.
 *
 * Times are Unix milliseconds. A `document` is JSON; fields that a statement filters by or changes have columns. Codes
 * of states, priorities and so on are those of ../column-values.ts. Databases store a checksum of this text, comments
 * included.
 */
export const schema: Migration = {
  number: 1,
  name: "schema",
  sql: `
-- Whether the contents moved to another store, or are moving in (move/).
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- The string table: repeated strings and their numbers.
CREATE TABLE strings (ref INTEGER PRIMARY KEY, string TEXT NOT NULL UNIQUE);

-- Numbers of lanes, for narrow rows and indexes of deliveries.
CREATE TABLE lanes (
  ref INTEGER PRIMARY KEY,
  webhook INTEGER NOT NULL, ordering INTEGER NOT NULL,
  event_type INTEGER NOT NULL, -- 0 when the lane holds every type
  UNIQUE (webhook, ordering, event_type)
);

-- One row of counters and last positions, written once per transaction: rows are never counted.
CREATE TABLE counters (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  waiting_high INTEGER NOT NULL, waiting_normal INTEGER NOT NULL, waiting_low INTEGER NOT NULL,
  event_last INTEGER NOT NULL, delivery_last INTEGER NOT NULL,
  fresh_floor INTEGER NOT NULL, -- no waiting delivery below has a null queue_position
  opens INTEGER NOT NULL -- openings of the file: lease tokens of two processes differ
);
INSERT INTO counters VALUES (1, 0, 0, 0, 0, 0, 1, 0);

-- The same for each tenant.
CREATE TABLE tenant_counters (
  tenant INTEGER PRIMARY KEY,
  sequence_last INTEGER NOT NULL, dead_letters INTEGER NOT NULL
);

-- Published events. seq is the order of commits.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL, tenant INTEGER NOT NULL, event_type INTEGER NOT NULL,
  sequence_number INTEGER NOT NULL, -- counts the events of the tenant
  occurred_at INTEGER NOT NULL, source TEXT, idempotency_key TEXT, priority INTEGER NOT NULL,
  created_at INTEGER NOT NULL, content_type INTEGER NOT NULL, delivery_first INTEGER NOT NULL,
  delivery_count INTEGER NOT NULL, -- written with the event, contiguous from delivery_first
  requeue_count INTEGER NOT NULL, -- written later, listed in event_requeues
  body BLOB, -- null once its retention has ended
  raw INTEGER NOT NULL DEFAULT 0, -- 1 if the body is not JSON
  trace BLOB, -- the position in the publisher's trace (packTraceContext)
  relayed BLOB -- parts of the request that the gateway received
);
CREATE INDEX events_id ON events (id);
CREATE INDEX events_tenant ON events (seq >> 12, tenant);

-- Deliveries of an event that were created after its publish, such as replays.
CREATE TABLE event_requeues (event INTEGER, delivery INTEGER, PRIMARY KEY (event, delivery)) WITHOUT ROWID;

-- Idempotency keys of publishes. A row stays as long as its event and finds it, also after expires_at.
CREATE TABLE dedup_keys (
  tenant INTEGER NOT NULL, key TEXT NOT NULL, event INTEGER NOT NULL, fingerprint TEXT,
  expires_at INTEGER NOT NULL, -- from then on a publish with the key creates a new event
  PRIMARY KEY (tenant, key)
) WITHOUT ROWID;

-- Deliveries of large events that later transactions write; their positions are reserved.
CREATE TABLE fan_out_parts (
  event INTEGER, part INTEGER, delivery_first INTEGER NOT NULL, document TEXT NOT NULL,
  PRIMARY KEY (event, part)
);

-- One event for one webhook.
CREATE TABLE deliveries (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL, event INTEGER NOT NULL, tenant INTEGER NOT NULL, webhook INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  queue_position INTEGER, -- place in the lane; null when it has none: done, or a lease was taken as it was written
  state INTEGER NOT NULL, priority INTEGER NOT NULL, origin INTEGER NOT NULL,
  attempt_count INTEGER NOT NULL, created_at INTEGER NOT NULL, due_at INTEGER NOT NULL,
  first_attempt_at INTEGER, completed_at INTEGER, reason TEXT, category INTEGER, replayed_by TEXT,
  format INTEGER NOT NULL DEFAULT 0, replay_of TEXT,
  order_position INTEGER, -- place in an ordered lane; null before the first retry: seq
  retried_at INTEGER,
  retried_attempts INTEGER, -- attempt_count at that time
  retries TEXT, -- JSON
  operation TEXT -- the last bulk operation that sent it again
);
CREATE INDEX deliveries_id ON deliveries (id);
CREATE INDEX deliveries_owner ON deliveries (seq >> 12, tenant, webhook);
CREATE INDEX deliveries_operation ON deliveries (operation, seq) WHERE operation IS NOT NULL;
-- 3 is "exhausted", shown as a dead letter.
CREATE INDEX deliveries_dead ON deliveries (tenant) WHERE state = 3;
-- A delivery that waits again after a retry may be below the floor of the expiry sweep.
CREATE INDEX deliveries_retried ON deliveries (seq) WHERE retried_at IS NOT NULL AND state <= 1;

-- Waiting deliveries in the order of their lanes, and for a while some that have ended (lane-queue.ts).
CREATE TABLE lane_entries (
  lane INTEGER, queue_position INTEGER, delivery INTEGER,
  PRIMARY KEY (lane, queue_position, delivery)
) WITHOUT ROWID;

-- Executed requests. key = delivery << 16 | number: unique per attempt and in delivery order without a second index.
CREATE TABLE attempts (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL, outcome INTEGER NOT NULL, state_unknown INTEGER NOT NULL, category INTEGER,
  status_code INTEGER, response_sample TEXT, error_message TEXT, duration_ms REAL NOT NULL,
  scheduled_at INTEGER NOT NULL, executed_at INTEGER NOT NULL, next_retry_at INTEGER,
  notes TEXT -- the gates that held the delivery, and how Retry-After was used (../attempt-notes.ts)
);

-- Which creation times a chunk of rows holds. The clock may jump, so the order by seq does not imply them.
CREATE TABLE chunks (
  kind INTEGER, -- 0 events, 1 deliveries
  chunk INTEGER, created_min INTEGER NOT NULL, created_max INTEGER NOT NULL,
  PRIMARY KEY (kind, chunk)
) WITHOUT ROWID;

-- How far upkeep has come (upkeep/sweeps.ts).
CREATE TABLE sweeps (name TEXT PRIMARY KEY, floor INTEGER NOT NULL, cursor INTEGER NOT NULL) WITHOUT ROWID;

-- Webhooks. A deleted one stays for its history, until its deliveries are cancelled and removed.
CREATE TABLE webhooks (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL, deleted_at INTEGER,
  cancel_due INTEGER NOT NULL DEFAULT 0, -- 1 while upkeep has to cancel waiting deliveries
  document TEXT NOT NULL
);
CREATE INDEX webhooks_cancel ON webhooks (seq) WHERE cancel_due = 1;

-- The part of a webhook that deliveries change. Users change the document.
CREATE TABLE webhook_states (
  webhook TEXT PRIMARY KEY,
  paused_until INTEGER, pause_reason TEXT, last_success_at INTEGER, circuit TEXT, health TEXT
) WITHOUT ROWID;
CREATE INDEX webhook_states_failing ON webhook_states (webhook) WHERE instr(health, '"failingSince":null') = 0;

-- Changes of webhooks, with the configuration of each revision.
CREATE TABLE webhook_history (
  seq INTEGER PRIMARY KEY,
  webhook TEXT NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
  revision INTEGER, -- null where the configuration stayed as it was
  document TEXT NOT NULL
);
CREATE INDEX webhook_history_webhook ON webhook_history (webhook, seq);

-- Sealed secrets of webhooks and tenants. The digest finds a secret that is in use already.
CREATE TABLE secrets (
  owner_kind INTEGER, -- 0 webhook, 1 tenant
  owner TEXT, position INTEGER, kind TEXT NOT NULL, ciphertext BLOB NOT NULL, digest TEXT NOT NULL,
  created_at INTEGER NOT NULL, expires_at INTEGER,
  PRIMARY KEY (owner_kind, owner, position)
) WITHOUT ROWID;
CREATE INDEX secrets_digest ON secrets (digest);

-- Failures grouped into problems. position grows with each change, so that recent changes come first.
CREATE TABLE delivery_problems (
  id TEXT PRIMARY KEY,
  position INTEGER NOT NULL, webhook TEXT NOT NULL, tenant TEXT NOT NULL,
  state INTEGER NOT NULL, -- 0 noticed, 1 open, 2 recovering, 3 resolved
  muted_until INTEGER, last_seen INTEGER NOT NULL, document TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX delivery_problems_position ON delivery_problems (position);
CREATE INDEX delivery_problems_webhook ON delivery_problems (webhook, position);
CREATE INDEX delivery_problems_unresolved ON delivery_problems (webhook) WHERE state IN (1, 2);
-- For upkeep. Open problems, which change most, are left out.
CREATE INDEX delivery_problems_resting ON delivery_problems (state, last_seen) WHERE state <> 1;

CREATE TABLE tenants (id TEXT PRIMARY KEY, document TEXT NOT NULL, pool TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE api_keys (id TEXT PRIMARY KEY, expires_at INTEGER, document TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX api_keys_expiry ON api_keys (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE event_types (
  tenant TEXT, name TEXT, document TEXT NOT NULL,
  PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

-- The gateway: sources receive requests, connections forward them to webhooks.
CREATE TABLE gateway_sources (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE gateway_connections (
  id TEXT PRIMARY KEY,
  source TEXT NOT NULL, document TEXT NOT NULL
) WITHOUT ROWID;

-- The log of received requests. People and retention seldom look for successes: the indexes of notable rows skip them.
CREATE TABLE gateway_requests (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL, source TEXT NOT NULL, received_at INTEGER NOT NULL, status INTEGER NOT NULL,
  outcome TEXT NOT NULL, cause TEXT, bookmark TEXT, document TEXT NOT NULL, body BLOB
);
CREATE INDEX gateway_requests_tenant ON gateway_requests (tenant, id);
CREATE INDEX gateway_requests_notable ON gateway_requests (id) WHERE outcome <> 'accepted' OR status >= 400;
CREATE INDEX gateway_requests_notable_source ON gateway_requests (source, id) WHERE outcome <> 'accepted' OR status >= 400;
CREATE INDEX gateway_requests_notable_tenant ON gateway_requests (tenant, id) WHERE outcome <> 'accepted' OR status >= 400;
CREATE INDEX gateway_requests_bookmark ON gateway_requests (id) WHERE bookmark IS NOT NULL;
CREATE INDEX gateway_requests_body ON gateway_requests (id) WHERE body IS NOT NULL AND bookmark IS NULL;

-- An index by source. Rows of one moment have many sources, and an index would touch a page for each of them, so they
-- are collected in the second table and moved to the first in groups.
CREATE TABLE gateway_requests_by_source (
  source TEXT NOT NULL, id TEXT NOT NULL,
  PRIMARY KEY (source, id)
) WITHOUT ROWID;
CREATE TABLE gateway_requests_unfiled (source TEXT NOT NULL, id TEXT NOT NULL);

-- Events that wait for a paused connection.
CREATE TABLE gateway_held (
  connection TEXT NOT NULL, request TEXT NOT NULL, event TEXT NOT NULL,
  PRIMARY KEY (connection, request)
) WITHOUT ROWID;
CREATE INDEX gateway_held_request ON gateway_held (request);

-- Responses of the gateway by deduplication key, and calls that are still running.
CREATE TABLE gateway_answers (
  key TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  claim_token TEXT, -- of the running call; null once there is a document
  expires_at INTEGER NOT NULL, document TEXT
) WITHOUT ROWID;
CREATE INDEX gateway_answers_end ON gateway_answers (expires_at);

-- Sessions of the customer portal, by the hashes of their link's code and of their token.
CREATE TABLE portal_sessions (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL, reference TEXT, code_hash TEXT NOT NULL UNIQUE,
  code_expires_at INTEGER NOT NULL, token_hash TEXT UNIQUE, expires_at INTEGER NOT NULL,
  redeemed_at INTEGER, ended_at INTEGER, document TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX portal_sessions_tenant ON portal_sessions (tenant, reference);
CREATE INDEX portal_sessions_end ON portal_sessions (expires_at);

-- The appearance of the portal. The empty tenant is the deployment: a primary key cannot be null.
CREATE TABLE portal_settings (tenant TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE portal_logos (
  tenant TEXT NOT NULL,
  scheme TEXT NOT NULL, -- light or dark
  media_type TEXT NOT NULL, bytes BLOB NOT NULL,
  PRIMARY KEY (tenant, scheme)
);

-- Operational events, from the transaction of their cause until they are relayed and for a while after.
CREATE TABLE operational_events (
  seq INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE, -- of two events with the same key the first is stored
  at INTEGER NOT NULL, relayed_at INTEGER, document TEXT NOT NULL
);
CREATE INDEX operational_events_pending ON operational_events (seq) WHERE relayed_at IS NULL;
CREATE INDEX operational_events_relayed ON operational_events (relayed_at) WHERE relayed_at IS NOT NULL;

-- The document of a channel has its quiet hours as times of day, such as 22:00.
CREATE TABLE notification_channels (
  id TEXT PRIMARY KEY,
  tenant TEXT, -- null: the operator's
  position INTEGER NOT NULL, document TEXT NOT NULL, status TEXT,
  address TEXT -- of a mail channel, as mail_addresses has it
) WITHOUT ROWID;

-- Messages to people until a channel has accepted them, and for a while after.
CREATE TABLE notifications (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE, key TEXT NOT NULL, channel TEXT NOT NULL, tenant TEXT,
  state TEXT NOT NULL, due_at INTEGER NOT NULL, attempts INTEGER NOT NULL,
  lease_owner TEXT, -- a process
  lease_until INTEGER NOT NULL, ended_at INTEGER, error TEXT, event TEXT, document TEXT NOT NULL,
  urgent INTEGER NOT NULL DEFAULT 0,
  UNIQUE (key, channel)
);
CREATE INDEX notifications_waiting ON notifications (due_at) WHERE state = 'waiting';
-- Tenants take turns, each with its urgent messages first.
CREATE INDEX notifications_turns ON notifications (tenant, urgent DESC, due_at, seq) WHERE state = 'waiting';
CREATE INDEX notifications_ended ON notifications (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX notifications_tenant ON notifications (tenant, seq);

-- Sent messages by hour or day, for limits.
CREATE TABLE notification_counts (
  subject TEXT NOT NULL, since INTEGER NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (subject, since)
) WITHOUT ROWID;
CREATE INDEX notification_counts_since ON notification_counts (since);

-- Consents of mail recipients. A row outlives its channel, so recipients decide once.
CREATE TABLE mail_addresses (
  tenant TEXT NOT NULL, -- empty: the operator's
  address TEXT NOT NULL, -- folded: one spelling for each address
  id TEXT NOT NULL UNIQUE, -- in the links of messages
  created_at INTEGER NOT NULL, confirmation_sent_at INTEGER, confirmed_at INTEGER,
  unsubscribed_at INTEGER,
  PRIMARY KEY (tenant, address)
) WITHOUT ROWID;
CREATE INDEX mail_addresses_unconfirmed ON mail_addresses (tenant, created_at) WHERE confirmed_at IS NULL;

-- Failing webhooks, with the notifications about them, until they recover.
CREATE TABLE failure_episodes (webhook TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;

-- Custom alert rules; built-in ones are code.
CREATE TABLE alert_rules (
  tenant TEXT NOT NULL, -- empty: the operator's
  name TEXT NOT NULL, document TEXT NOT NULL,
  PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE TABLE alerts (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT, -- null: about the installation
  rule TEXT NOT NULL, state TEXT NOT NULL, ended_at INTEGER, document TEXT NOT NULL
);
CREATE INDEX alerts_ended ON alerts (ended_at);
CREATE TABLE alert_mutes (key TEXT PRIMARY KEY, until INTEGER NOT NULL, document TEXT NOT NULL) WITHOUT ROWID;

-- Bulk operations. The process that runs one and a user who changes it compare the revision before they write.
CREATE TABLE operations (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE, tenant TEXT, finished INTEGER NOT NULL, document TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX operations_unfinished ON operations (seq) WHERE finished = 0;

-- API calls by idempotency key.
CREATE TABLE idempotency (
  scope TEXT, key TEXT, fingerprint TEXT NOT NULL, claim_until INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  status INTEGER, -- null while the call runs
  body TEXT,
  PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_expiry ON idempotency (expires_at);

CREATE TABLE audit_log (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL, tenant TEXT, action TEXT NOT NULL,
  actor TEXT NOT NULL, -- ids and name, each between line feeds
  target TEXT, document TEXT NOT NULL
);

-- Statistics. Buckets of the same time are adjacent, so writing touches a few pages and removing takes them in one
-- piece; a reader of one webhook seeks once per bucket. Every writer has its own rows, and a reader adds them up.
CREATE TABLE delivery_stats (
  step INTEGER, -- 0 minute, 1 hour, 2 day
  bucket INTEGER, -- where it begins
  tenant INTEGER, -- 0 for all
  subject INTEGER, -- the webhook; 0 for all of the tenant
  writer INTEGER, -- 0 where upkeep added up
  part INTEGER,
  counted_to INTEGER NOT NULL, -- the last commit of the writer that the row contains
  counts BLOB NOT NULL,
  PRIMARY KEY (step, bucket, tenant, subject, writer, part)
) WITHOUT ROWID;
CREATE TABLE event_stats (
  step INTEGER, bucket INTEGER, tenant INTEGER,
  subject INTEGER, -- the type
  writer INTEGER, part INTEGER, counted_to INTEGER NOT NULL, counts BLOB NOT NULL,
  PRIMARY KEY (step, bucket, tenant, subject, writer, part)
) WITHOUT ROWID;

-- Readings of gauges, one document per writer and bucket.
CREATE TABLE gauge_stats (
  step INTEGER, bucket INTEGER, writer INTEGER, document TEXT NOT NULL,
  PRIMARY KEY (step, bucket, writer)
) WITHOUT ROWID;

-- Facts that no row has counted yet, one row per commit.
CREATE TABLE stat_journal (
  writer INTEGER, number INTEGER, at INTEGER NOT NULL, facts BLOB NOT NULL,
  PRIMARY KEY (writer, number)
) WITHOUT ROWID;

-- Until when hours and days are rolled up.
CREATE TABLE stat_progress (step INTEGER PRIMARY KEY, done_until INTEGER NOT NULL);
`,
};
