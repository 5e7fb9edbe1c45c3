import type { Migration } from "../../migrations.ts";

/** Sessions of the portal by the hashes of code and token, and the appearance of the portal. */
export const portal: Migration = {
  number: 10,
  name: "portal",
  sql: `
CREATE TABLE portal_sessions (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  reference TEXT,
  code_hash TEXT NOT NULL UNIQUE,
  code_expires_at INTEGER NOT NULL,
  token_hash TEXT UNIQUE,
  expires_at INTEGER NOT NULL,
  redeemed_at INTEGER,
  ended_at INTEGER,
  document TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX portal_sessions_tenant ON portal_sessions (tenant, reference);
CREATE INDEX portal_sessions_end ON portal_sessions (expires_at);
CREATE TABLE portal_settings (
  tenant TEXT PRIMARY KEY, -- empty for the deployment
  document TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE portal_logos (
  tenant TEXT NOT NULL,
  scheme TEXT NOT NULL,
  media_type TEXT NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (tenant, scheme)
);
`,
};
