import type { PostgresMigration } from "../migrations.ts";

/** Like migration 15 of SQLite. */
export const gatewayHeld: PostgresMigration = {
  number: 18,
  name: "gateway-held",
  sql: `
CREATE TABLE posthorn.gateway_held (
  connection text NOT NULL,
  request text NOT NULL,
  event text NOT NULL,
  PRIMARY KEY (connection, request)
);
CREATE INDEX gateway_held_request ON posthorn.gateway_held (request);
INSERT INTO posthorn.gateway_held SELECT f ->> 'connectionId', r.id, r.document::jsonb ->> 'eventId'
  FROM posthorn.gateway_requests r, jsonb_array_elements(r.document::jsonb -> 'forwards') f
  WHERE f ->> 'result' = 'held' AND r.document::jsonb ->> 'eventId' IS NOT NULL;
`,
};
