import type { PostgresMigration } from "../migrations.ts";

/**
 * The gates that held a delivery before an attempt, and how the response's Retry-After was used. Older versions write
 * none.
 */
export const attemptNotes: PostgresMigration = {
  number: 6,
  name: "attempt notes",
  sql: "ALTER TABLE posthorn.attempts ADD COLUMN notes text;",
};
