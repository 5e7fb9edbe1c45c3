import type { Migration } from "../../migrations.ts";

/**
 * Once a minute upkeep looks for rows to remove; these indexes find them without a scan. Open problems, which change
 * most, are left out.
 */
export const whatUpkeepFinds: Migration = {
  number: 17,
  name: "what-upkeep-finds",
  sql: `
CREATE INDEX operational_events_relayed ON operational_events (relayed_at) WHERE relayed_at IS NOT NULL;
CREATE INDEX notifications_ended ON notifications (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX notifications_tenant ON notifications (tenant, seq);
CREATE INDEX api_keys_expiry ON api_keys (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX delivery_problems_resting ON delivery_problems (state, last_seen) WHERE state <> 1; -- 1 is open
`,
};
