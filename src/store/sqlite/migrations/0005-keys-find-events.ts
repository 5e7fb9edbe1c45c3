import type { Migration } from "../../migrations.ts";

/** Deduplication keys stay as long as their events and are used to find them, so their expiry is no longer indexed. */
export const keysFindEvents: Migration = {
  number: 5,
  name: "keys-find-events",
  sql: "DROP INDEX dedup_keys_expiry;",
};
