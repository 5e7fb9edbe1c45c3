import type { PostgresMigration } from "../migrations.ts";

/** What was announced lately, for processes that cannot listen. SQLite has one process. */
export const configChanges: PostgresMigration = {
  number: 24,
  name: "config-changes",
  sql: `
CREATE TABLE posthorn.config_changes (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  payload text NOT NULL -- as it is notified
);
`,
};
