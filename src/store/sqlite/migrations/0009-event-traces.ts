import type { Migration } from "../../migrations.ts";

/** The position of an event in its publisher's trace (`packTraceContext`). Adding a column rewrites no row. */
export const eventTraces: Migration = {
  number: 9,
  name: "event-traces",
  sql: "ALTER TABLE events ADD COLUMN trace BLOB;",
};
