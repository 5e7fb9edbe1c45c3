import type { Migration } from "../../migrations.ts";

/**
 * The lines of one moment have many sources, and an index touches a page for each. Lines collected over a while touch
 * few.
 */
export const requestsBySource: Migration = {
  number: 18,
  name: "requests-by-source",
  sql: `
CREATE TABLE gateway_requests_by_source (
  source TEXT NOT NULL,
  id TEXT NOT NULL,
  PRIMARY KEY (source, id)
) WITHOUT ROWID;
INSERT INTO gateway_requests_by_source SELECT source, id FROM gateway_requests ORDER BY source, id;
CREATE TABLE gateway_requests_unfiled (
  source TEXT NOT NULL,
  id TEXT NOT NULL
);
DROP INDEX gateway_requests_source;
`,
};
