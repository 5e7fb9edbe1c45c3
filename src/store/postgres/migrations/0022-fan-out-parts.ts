import type { PostgresMigration } from "../migrations.ts";

/** Like migration 20 of SQLite; positions are drawn when the rows are written. */
export const fanOutParts: PostgresMigration = {
  number: 22,
  name: "fan-out-parts",
  sql: `
CREATE TABLE posthorn.fan_out_parts (
  event bigint,
  part integer,
  document text NOT NULL,
  PRIMARY KEY (event, part)
);
`,
};
