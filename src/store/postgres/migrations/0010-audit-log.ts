import type { PostgresMigration } from "../migrations.ts";

/** Like migration 7 of SQLite. */
export const auditLog: PostgresMigration = {
  number: 10,
  name: "audit-log",
  sql: `
ALTER TABLE posthorn.operations ADD COLUMN revision int NOT NULL DEFAULT 0;
CREATE TABLE posthorn.audit_log (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  tenant text,
  action text NOT NULL,
  actor text NOT NULL,
  target text,
  document text NOT NULL
);
`,
};
