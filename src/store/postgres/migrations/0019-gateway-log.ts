import type { PostgresMigration } from "../migrations.ts";

/** Like migration 16 of SQLite. */
export const gatewayLog: PostgresMigration = {
  number: 19,
  name: "gateway-log",
  sql: `
CREATE INDEX gateway_requests_notable ON posthorn.gateway_requests (id) WHERE outcome <> 'accepted' OR status >= 400;
CREATE INDEX gateway_requests_notable_source ON posthorn.gateway_requests (source, id) WHERE outcome <> 'accepted' OR status >= 400;
CREATE INDEX gateway_requests_notable_tenant ON posthorn.gateway_requests (tenant, id) WHERE outcome <> 'accepted' OR status >= 400;
CREATE INDEX gateway_requests_bookmark ON posthorn.gateway_requests (id) WHERE bookmark IS NOT NULL;
CREATE INDEX gateway_requests_body ON posthorn.gateway_requests (id) WHERE body IS NOT NULL AND bookmark IS NULL;
`,
};
