import type { PostgresMigration } from "../migrations.ts";

/**
 * What owners observe of their endpoints, for processes that answer API calls. Not logged: owners report it again after
 * a crash.
 */
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
