import type { PostgresMigration } from "../migrations.ts";

/**
 * Like migration 8 of SQLite. Failing webhooks have no index: it would make every write of their states more expensive.
 */
export const notifications: PostgresMigration = {
  number: 11,
  name: "notifications",
  sql: `
CREATE TABLE posthorn.operational_events (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key text COLLATE "C" NOT NULL UNIQUE,
  at bigint NOT NULL,
  relayed_at bigint,
  document text NOT NULL
);
CREATE INDEX operational_events_pending ON posthorn.operational_events (seq) WHERE relayed_at IS NULL;
CREATE TABLE posthorn.notification_channels (
  id text COLLATE "C" PRIMARY KEY,
  tenant text,
  position int NOT NULL,
  document text NOT NULL,
  status text
);
CREATE TABLE posthorn.notifications (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  key text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  tenant text,
  state text NOT NULL,
  due_at bigint NOT NULL,
  attempts int NOT NULL,
  holder text,
  lease_until bigint NOT NULL,
  ended_at bigint,
  error text,
  event text,
  document text NOT NULL,
  UNIQUE (key, channel)
);
CREATE INDEX notifications_waiting ON posthorn.notifications (due_at) WHERE state = 'waiting';
CREATE TABLE posthorn.failure_episodes (webhook text COLLATE "C" PRIMARY KEY, document text NOT NULL);
`,
};
