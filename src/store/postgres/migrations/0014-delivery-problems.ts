import type { PostgresMigration } from "../migrations.ts";

/** Like migration 11 of SQLite. */
export const deliveryProblems: PostgresMigration = {
  number: 14,
  name: "delivery-problems",
  sql: `
CREATE SEQUENCE posthorn.delivery_problem_positions;
CREATE TABLE posthorn.delivery_problems (
  id uuid PRIMARY KEY,
  position bigint NOT NULL DEFAULT nextval('posthorn.delivery_problem_positions'),
  muted_until bigint,
  last_seen bigint NOT NULL,
  state smallint NOT NULL,
  webhook text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  document text NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX delivery_problems_position ON posthorn.delivery_problems (position);
CREATE INDEX delivery_problems_webhook ON posthorn.delivery_problems (webhook, position);
CREATE INDEX delivery_problems_unresolved ON posthorn.delivery_problems (webhook) WHERE state IN (1, 2);
`,
};
