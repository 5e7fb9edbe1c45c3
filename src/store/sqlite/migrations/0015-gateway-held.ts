import type { Migration } from "../../migrations.ts";

/** Events that wait for a paused connection. */
export const gatewayHeld: Migration = {
  number: 15,
  name: "gateway-held",
  sql: `
CREATE TABLE gateway_held (
  connection TEXT NOT NULL,
  request TEXT NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (connection, request)
) WITHOUT ROWID;
CREATE INDEX gateway_held_request ON gateway_held (request);
INSERT INTO gateway_held SELECT f.value ->> 'connectionId', r.id, r.document ->> 'eventId'
  FROM gateway_requests r, json_each(r.document, '$.forwards') f
  WHERE f.value ->> 'result' = 'held' AND r.document ->> 'eventId' IS NOT NULL;
`,
};
