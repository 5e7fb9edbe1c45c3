import type { PostgresMigration } from "../migrations.ts";

/** Like migration 12 of SQLite. */
export const alerts: PostgresMigration = {
  number: 15,
  name: "alerts",
  sql: `
CREATE TABLE posthorn.alert_rules (
  tenant text NOT NULL,
  name text NOT NULL,
  document text NOT NULL,
  PRIMARY KEY (tenant, name)
);
CREATE TABLE posthorn.alerts (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL UNIQUE,
  tenant text,
  rule text NOT NULL,
  state text NOT NULL,
  ended_at bigint,
  document text NOT NULL
);
CREATE INDEX alerts_ended ON posthorn.alerts (ended_at);
CREATE TABLE posthorn.alert_mutes (key text PRIMARY KEY, until bigint NOT NULL, document text NOT NULL);
`,
};
