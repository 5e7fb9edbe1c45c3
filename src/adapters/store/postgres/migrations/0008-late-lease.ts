import type { PostgresMigration } from "../migrations.ts";

/**
 * The lease that a delivery was ended under by somebody else than its holder, until the holder has reported what came of
 * its request. Older versions leave it empty, and refuse what such a holder reports.
 */
export const lateLease: PostgresMigration = {
  number: 8,
  name: "late-lease",
  sql: "ALTER TABLE posthorn.deliveries ADD COLUMN late_fence integer;",
};
