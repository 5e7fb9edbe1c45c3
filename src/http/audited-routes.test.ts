import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiOptions } from "./context.ts";
import { createRoutes } from "./route-table.ts";
import type { OpenStreams } from "../features/live/event-streams.ts";

/** Routes are data, so building them does not use these dependencies. */
function everyRoute() {
  const dashboard = { sessions: {}, version: "", files: async () => new Map() };
  const options = {
    services: {},
    cursorKey: new Uint8Array(32),
    profiles: [],
    sourceTypes: [],
    dashboard,
    callRates: {},
  };
  const limits = { payloadBytesMax: 1, connectionsMax: 1 };
  return createRoutes({ ...options, limits } as unknown as ApiOptions, {} as OpenStreams);
}

test("every changing route says how it is audited, or why not", () => {
  const changing = everyRoute().filter(
    ({ method, changesByGet }) => method !== "GET" || changesByGet === true,
  );
  assert.ok(changing.length > 25, String(changing.length));
  for (const { method, path, audit } of changing) {
    assert.ok(audit !== undefined, `${method} ${path} has no audit`);
    if ("none" in audit) assert.ok(audit.none.length > 10, `${method} ${path} is left out without a reason`);
    else assert.match(audit.action, /^[a-z_]+\.[a-z_]+$/, `${method} ${path}`);
  }
});

test("only publishing, previews, opened pages, and readers of mail are not audited", () => {
  const left = everyRoute().filter(({ audit }) => audit !== undefined && "none" in audit);
  assert.deepEqual(left.map(({ operationId }) => operationId).toSorted(), [
    "checkWebhookUrl",
    "confirmAddress",
    "evaluateFilter",
    "login",
    "logout",
    "previewAlertRule",
    "publishEvent",
    "publishEvents",
    "redeemPortalCode",
    "unsubscribe",
  ]);
});

test("nothing else writes to the audit log", () => {
  const own = everyRoute().filter(({ path }) => path.startsWith("/v1/audit-log"));
  assert.deepEqual(
    own.map(({ method }) => method),
    ["GET"],
  );
});
