import type { Migration } from "../../migrations.ts";

/** Which gates held a delivery before an attempt, and what came of the answer's Retry-After. */
export const attemptNotes: Migration = {
  number: 3,
  name: "attempt-notes",
  sql: "ALTER TABLE attempts ADD COLUMN notes TEXT;",
};
