import type { Migration } from "../../migrations.ts";

/** Failures grouped into problems. `position` grows with each change, so that recent changes come first. */
export const deliveryProblems: Migration = {
  number: 11,
  name: "delivery-problems",
  sql: `
CREATE TABLE delivery_problems (
  id TEXT PRIMARY KEY,
  position INTEGER NOT NULL,
  webhook TEXT NOT NULL,
  tenant TEXT NOT NULL,
  state INTEGER NOT NULL, -- 0 noticed, 1 open, 2 recovering, 3 resolved
  muted_until INTEGER,
  last_seen INTEGER NOT NULL,
  document TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX delivery_problems_position ON delivery_problems (position);
CREATE INDEX delivery_problems_webhook ON delivery_problems (webhook, position);
CREATE INDEX delivery_problems_unresolved ON delivery_problems (webhook) WHERE state IN (1, 2);
`,
};
