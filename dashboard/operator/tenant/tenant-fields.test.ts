import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { snakeCase } from "../../../src/http/mapping.ts";
import { rateLimitFields } from "../../../src/resources/names.ts";
import { tenantFields as apiFields } from "../../../src/resources/tenant.ts";
import { bodyOf, typedOf, type Typed } from "../form/form-fields.ts";
import { tenantCommand, tenantFields } from "./tenant-fields.ts";

suite("the form of a tenant", () => {
  const before = typedOf(tenantFields, {
    name: "Acme",
    rate_limit: { requests_per_minute: 60, burst: 5 },
    webhooks_max: null,
    worker_pool: "default",
  });
  const commandOf = (changes: Typed) => {
    const { body } = bodyOf(tenantFields, { ...before, ...changes }, before);
    return tenantCommand("acme", body)?.text ?? null;
  };

  test("has all fields of the API", () => {
    const { rateLimit: _, ...others } = apiFields;
    const names = [
      ...Object.keys(others).map(snakeCase),
      ...Object.keys(rateLimitFields).map((name) => `rate_limit.${snakeCase(name)}`),
    ];
    assert.deepEqual(tenantFields.map(({ name }) => name).toSorted(), names.toSorted());
  });

  test("the command sets the same fields where it has options for them", () => {
    assert.equal(
      commandOf({ "name": "Acme Ltd", "rate_limit.requests_per_minute": "90", "webhooks_max": "7" }),
      "tenants put acme --name 'Acme Ltd' --rate-limit 90 --burst 5 --webhooks-max 7",
    );
    assert.equal(commandOf({ "rate_limit.requests_per_minute": "" }), "tenants put acme --rate-limit none");
    assert.equal(commandOf({ "rate_limit.burst": "9" }), "tenants put acme --rate-limit 60 --burst 9");
    assert.equal(tenantCommand("acme", { webhooks_max: null }), null);
  });
});
