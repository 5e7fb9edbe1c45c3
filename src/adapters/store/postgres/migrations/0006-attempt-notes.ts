import type { PostgresMigration } from "../migrations.ts";

/** Which gates held a delivery before an attempt, and what came of the answer's Retry-After. Older versions write none. */
export const attemptNotes: PostgresMigration = {
  number: 6,
  name: "attempt notes",
  sql: "ALTER TABLE posthorn.attempts ADD COLUMN notes text;",
};
