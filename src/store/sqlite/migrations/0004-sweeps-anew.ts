import type { Migration } from "../../migrations.ts";

/** Earlier versions skipped rows that were written after a sweep had reached the end, so all are examined again. */
export const sweepsAnew: Migration = {
  number: 4,
  name: "sweeps-anew",
  sql: "DELETE FROM sweeps;",
};
