import type { PostgresMigration } from "../migrations.ts";

/** Like migration 9 of SQLite. */
export const eventTraces: PostgresMigration = {
  number: 12,
  name: "event-traces",
  sql: "ALTER TABLE posthorn.events ADD COLUMN trace bytea;",
};
