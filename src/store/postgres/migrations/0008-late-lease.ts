import type { PostgresMigration } from "../migrations.ts";

/**
 * The lease under which a delivery was ended by another process than its holder, until the holder reports the outcome
 * of its request. Older versions leave it empty, and refuse such reports.
 */
export const lateLease: PostgresMigration = {
  number: 8,
  name: "late-lease",
  sql: "ALTER TABLE posthorn.deliveries ADD COLUMN late_fence integer;",
};
