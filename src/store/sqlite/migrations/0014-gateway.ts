import type { Migration } from "../../migrations.ts";

/** The gateway's sources, connections and received requests, and what its events keep of their request. */
export const gateway: Migration = {
  number: 14,
  name: "gateway",
  sql: `
ALTER TABLE events ADD COLUMN relayed BLOB;
CREATE TABLE gateway_sources (
  id TEXT PRIMARY KEY,
  document TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE gateway_connections (
  id TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  document TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE gateway_requests (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  source TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  status INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  cause TEXT,
  bookmark TEXT,
  document TEXT NOT NULL,
  body BLOB
);
CREATE INDEX gateway_requests_source ON gateway_requests (source, id);
CREATE INDEX gateway_requests_tenant ON gateway_requests (tenant, id);
CREATE TABLE gateway_answers (
  key TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  holder TEXT,
  expires_at INTEGER NOT NULL,
  document TEXT
) WITHOUT ROWID;
CREATE INDEX gateway_answers_end ON gateway_answers (expires_at);
`,
};
