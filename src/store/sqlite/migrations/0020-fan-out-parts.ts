import type { Migration } from "../../migrations.ts";

/** Deliveries of large events that later transactions write; their positions are reserved. */
export const fanOutParts: Migration = {
  number: 20,
  name: "fan-out-parts",
  sql: `
CREATE TABLE fan_out_parts (
  event INTEGER,
  part INTEGER,
  first_delivery INTEGER NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (event, part)
);
`,
};
