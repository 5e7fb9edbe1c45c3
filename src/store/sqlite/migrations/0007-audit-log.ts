import type { Migration } from "../../migrations.ts";

/**
 * The audit log, and a revision of operations, so that the process that runs one and a user who changes it do not
 * overwrite each other.
 */
export const auditLog: Migration = {
  number: 7,
  name: "audit-log",
  sql: `
ALTER TABLE operations ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
CREATE TABLE audit_log (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  tenant TEXT,
  action TEXT NOT NULL,
  actor TEXT NOT NULL, -- ids and name, each between line feeds
  target TEXT,
  document TEXT NOT NULL
);
`,
};
