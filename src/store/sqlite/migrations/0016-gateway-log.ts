import type { Migration } from "../../migrations.ts";

/** Users and retention seldom look for successes in the gateway's log; these indexes skip them. */
export const gatewayLog: Migration = {
  number: 16,
  name: "gateway-log",
  sql: `
CREATE INDEX gateway_requests_notable ON gateway_requests (id) WHERE outcome <> 'accepted' OR status >= 400;
CREATE INDEX gateway_requests_notable_source ON gateway_requests (source, id) WHERE outcome <> 'accepted' OR status >= 400;
CREATE INDEX gateway_requests_notable_tenant ON gateway_requests (tenant, id) WHERE outcome <> 'accepted' OR status >= 400;
CREATE INDEX gateway_requests_bookmark ON gateway_requests (id) WHERE bookmark IS NOT NULL;
CREATE INDEX gateway_requests_body ON gateway_requests (id) WHERE body IS NOT NULL AND bookmark IS NULL;
`,
};
