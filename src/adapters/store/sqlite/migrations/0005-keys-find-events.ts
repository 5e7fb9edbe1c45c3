import type { Migration } from "../../migrations.ts";

/** Deduplication keys stay as long as their events, so that they find them: nothing goes by their expiry any more. */
export const keysFindEvents: Migration = {
  number: 5,
  name: "keys-find-events",
  sql: "DROP INDEX dedup_keys_expiry;",
};
