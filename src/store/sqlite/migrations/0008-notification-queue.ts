import type { Migration } from "../../migrations.ts";

/**
 * Operational events until they are published, notification channels and messages, and which failures were reported.
 */
export const notifications: Migration = {
  number: 8,
  name: "notifications",
  sql: `
CREATE TABLE operational_events (
  seq INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  at INTEGER NOT NULL,
  relayed_at INTEGER,
  document TEXT NOT NULL
);
CREATE INDEX operational_events_pending ON operational_events (seq) WHERE relayed_at IS NULL;
CREATE TABLE notification_channels (
  id TEXT PRIMARY KEY,
  tenant TEXT, -- null: the operator's
  position INTEGER NOT NULL,
  document TEXT NOT NULL,
  status TEXT
) WITHOUT ROWID;
CREATE TABLE notifications (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  key TEXT NOT NULL,
  channel TEXT NOT NULL,
  tenant TEXT,
  state TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  holder TEXT,
  lease_until INTEGER NOT NULL,
  ended_at INTEGER,
  error TEXT,
  event TEXT,
  document TEXT NOT NULL,
  UNIQUE (key, channel)
);
CREATE INDEX notifications_waiting ON notifications (due_at) WHERE state = 'waiting';
CREATE TABLE failure_episodes (webhook TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX webhook_states_failing ON webhook_states (webhook) WHERE instr(health, '"failingSince":null') = 0;
`,
};
