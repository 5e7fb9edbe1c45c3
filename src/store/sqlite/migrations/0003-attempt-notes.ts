import type { Migration } from "../../migrations.ts";

/** The gates that held a delivery before an attempt, and how the response's Retry-After was used. */
export const attemptNotes: Migration = {
  number: 3,
  name: "attempt-notes",
  sql: "ALTER TABLE attempts ADD COLUMN notes TEXT;",
};
