import type { PostgresMigration } from "../migrations.ts";

/** What owners see of their endpoints, for processes that answer people. Not logged: after a crash they tell it again. */
export const endpointReports: PostgresMigration = {
  number: 4,
  name: "endpoint reports",
  sql: `
CREATE UNLOGGED TABLE posthorn.endpoint_reports (
  webhook integer PRIMARY KEY, -- its number in words
  fence bigint NOT NULL,
  document text NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_cost_delay = 0);
`,
};
