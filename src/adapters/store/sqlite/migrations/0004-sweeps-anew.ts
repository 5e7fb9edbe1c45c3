import type { Migration } from "../../migrations.ts";

/** Earlier versions passed over rows that were written after a sweep had come to the end: all are looked at once more. */
export const sweepsAnew: Migration = {
  number: 4,
  name: "sweeps-anew",
  sql: "DELETE FROM sweeps;",
};
