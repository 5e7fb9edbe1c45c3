import type { PostgresMigration } from "../migrations.ts";

/** Like migration 10 of SQLite. */
export const portal: PostgresMigration = {
  number: 13,
  name: "portal",
  sql: `
CREATE TABLE posthorn.portal_sessions (
  id text PRIMARY KEY,
  tenant text NOT NULL,
  reference text,
  code_hash text NOT NULL UNIQUE,
  code_expires_at bigint NOT NULL,
  token_hash text UNIQUE,
  expires_at bigint NOT NULL,
  redeemed_at bigint,
  ended_at bigint,
  document text NOT NULL
);
CREATE INDEX portal_sessions_tenant ON posthorn.portal_sessions (tenant, reference);
CREATE INDEX portal_sessions_end ON posthorn.portal_sessions (expires_at);
CREATE TABLE posthorn.portal_settings (
  tenant text PRIMARY KEY,
  document text NOT NULL
);
CREATE TABLE posthorn.portal_logos (
  tenant text NOT NULL,
  scheme text NOT NULL,
  media_type text NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (tenant, scheme)
);
`,
};
