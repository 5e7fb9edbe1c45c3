import type { Migration } from "../../migrations.ts";

/** Custom alert rules, alerts, and mutes. */
export const alerts: Migration = {
  number: 12,
  name: "alerts",
  sql: `
CREATE TABLE alert_rules (
  tenant TEXT NOT NULL, -- empty: the operator's
  name TEXT NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE TABLE alerts (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT, -- null: about the installation
  rule TEXT NOT NULL,
  state TEXT NOT NULL,
  ended_at INTEGER,
  document TEXT NOT NULL
);
CREATE INDEX alerts_ended ON alerts (ended_at);
CREATE TABLE alert_mutes (key TEXT PRIMARY KEY, until INTEGER NOT NULL, document TEXT NOT NULL) WITHOUT ROWID;
`,
};
