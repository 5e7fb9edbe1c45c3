import type { Migration } from "../../migrations.ts";

/** Events of any media type, and deliveries that store their payload format. Adding a column rewrites no row. */
export const payloadFormatColumns: Migration = {
  number: 2,
  name: "payload-formats",
  sql: `
ALTER TABLE events ADD COLUMN raw INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN format INTEGER NOT NULL DEFAULT 0;
`,
};
