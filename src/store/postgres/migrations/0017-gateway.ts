import type { PostgresMigration } from "../migrations.ts";

/** Like migration 14 of SQLite. */
export const gateway: PostgresMigration = {
  number: 17,
  name: "gateway",
  sql: `
ALTER TABLE posthorn.events ADD COLUMN relayed bytea;
CREATE TABLE posthorn.gateway_sources (
  id text PRIMARY KEY,
  document text NOT NULL
);
CREATE TABLE posthorn.gateway_connections (
  id text PRIMARY KEY,
  source text NOT NULL,
  document text NOT NULL
);
CREATE TABLE posthorn.gateway_requests (
  id text PRIMARY KEY,
  tenant text NOT NULL,
  source text NOT NULL,
  received_at bigint NOT NULL,
  status int NOT NULL,
  outcome text NOT NULL,
  cause text,
  bookmark text,
  document text NOT NULL,
  body bytea
);
CREATE INDEX gateway_requests_source ON posthorn.gateway_requests (source, id);
CREATE INDEX gateway_requests_tenant ON posthorn.gateway_requests (tenant, id);
CREATE TABLE posthorn.gateway_answers (
  key text PRIMARY KEY,
  fingerprint text NOT NULL,
  holder text,
  expires_at bigint NOT NULL,
  document text
);
CREATE INDEX gateway_answers_end ON posthorn.gateway_answers (expires_at);
`,
};
