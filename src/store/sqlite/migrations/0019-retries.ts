import type { Migration } from "../../migrations.ts";

/**
 * A manual retry keeps its delivery. Copies made by earlier versions stay, and the deliveries that they replaced count
 * as cancelled.
 *
 * A delivery that waits again may be below the floor of the expiry sweep, so the index finds it. Rows that were never
 * retried are not in it.
 */
export const retries: Migration = {
  number: 19,
  name: "retries",
  sql: `
DROP INDEX deliveries_dead;
UPDATE deliveries SET state = 5, reason = 'superseded' WHERE state = 3 AND superseded_by IS NOT NULL;
ALTER TABLE deliveries RENAME COLUMN superseded_by TO replayed_by;
ALTER TABLE deliveries ADD COLUMN replay_of TEXT;
ALTER TABLE deliveries ADD COLUMN order_position INTEGER; -- place in an ordered lane; null before the first retry: seq
ALTER TABLE deliveries ADD COLUMN retried_at INTEGER;
ALTER TABLE deliveries ADD COLUMN retried_attempts INTEGER; -- attempt_count at that time
ALTER TABLE deliveries ADD COLUMN retries TEXT; -- JSON
ALTER TABLE deliveries ADD COLUMN operation TEXT; -- the last bulk operation that sent it again
CREATE INDEX deliveries_operation ON deliveries (operation, seq) WHERE operation IS NOT NULL;
CREATE INDEX deliveries_dead ON deliveries (tenant) WHERE state = 3;
CREATE INDEX deliveries_retried ON deliveries (seq) WHERE retried_at IS NOT NULL AND state <= 1;
`,
};
