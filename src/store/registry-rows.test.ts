import assert from "node:assert/strict";
import { test } from "node:test";
import { toTenant } from "./document-rows.ts";

test("a tenant saved before worker pools existed has the default pool", () => {
  const saved = { id: "acme", name: "Acme", rateLimit: null };
  assert.deepEqual(toTenant(JSON.stringify(saved)), { ...saved, workerPool: "default" });
  assert.equal(toTenant(JSON.stringify({ ...saved, workerPool: "large" })).workerPool, "large");
});
