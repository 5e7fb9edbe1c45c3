import type { Migration } from "../../migrations.ts";

/** Where in its publisher's trace an event was published (`packTraceContext`). Adding a column rewrites no row. */
export const eventTraces: Migration = {
  number: 9,
  name: "event-traces",
  sql: "ALTER TABLE events ADD COLUMN trace BLOB;",
};
