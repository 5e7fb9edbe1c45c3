import type { PostgresMigration } from "../migrations.ts";

/** Like migration 19 of SQLite. A delivery that waits again needs a lease token that no earlier holder has. */
export const retries: PostgresMigration = {
  number: 21,
  name: "retries",
  sql: `
UPDATE posthorn.deliveries SET state = 5, reason = 'superseded' WHERE state = 3 AND superseded_by IS NOT NULL;
ALTER TABLE posthorn.deliveries RENAME COLUMN superseded_by TO replayed_by;
ALTER TABLE posthorn.deliveries
  ADD COLUMN replay_of uuid,
  ADD COLUMN order_position bigint, -- place in an ordered lane; null before the first retry: seq
  ADD COLUMN retried_at bigint,
  ADD COLUMN retried_attempts integer, -- attempt_count at that time
  ADD COLUMN retries text, -- JSON
  ADD COLUMN operation uuid, -- the last bulk operation that sent it again
  ADD COLUMN lease_token_last integer; -- of a delivery that was given up or cancelled
CREATE INDEX deliveries_operation ON posthorn.deliveries (operation, seq) WHERE operation IS NOT NULL;
ALTER TABLE posthorn.queue ADD COLUMN retried_at bigint;
CREATE INDEX queue_retried ON posthorn.queue (delivery) WHERE retried_at IS NOT NULL;
`,
};
