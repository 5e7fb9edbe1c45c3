import type { PostgresMigration } from "../migrations.ts";

/** Like migration 17 of SQLite. */
export const whatUpkeepFinds: PostgresMigration = {
  number: 20,
  name: "what-upkeep-finds",
  sql: `
CREATE INDEX operational_events_relayed ON posthorn.operational_events (relayed_at) WHERE relayed_at IS NOT NULL;
CREATE INDEX notifications_ended ON posthorn.notifications (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX notifications_tenant ON posthorn.notifications (tenant, seq);
CREATE INDEX api_keys_expiry ON posthorn.api_keys (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX delivery_problems_resting ON posthorn.delivery_problems (state, last_seen) WHERE state <> 1; -- 1 is open
`,
};
