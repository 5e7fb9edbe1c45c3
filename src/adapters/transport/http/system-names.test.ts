import { strict as assert } from "node:assert";
import { describe, it } from "node:test";
import { createSystemNames } from "./system-names.ts";

describe("system names", () => {
  it("keeps localhost on this machine", async () => {
    const names = createSystemNames();
    for (const hostname of ["localhost", "app.localhost"]) {
      const found = await names.resolve(hostname);
      assert.deepEqual(
        found.map((one) => one.address),
        ["127.0.0.1", "::1"],
      );
    }
    names.close();
  });

  it("rejects or finds nothing for names that cannot exist (RFC 2606)", async () => {
    const names = createSystemNames();
    const found = await names.resolve("posthorn.invalid").catch(() => []);
    assert.deepEqual(found, []);
    names.close();
  });

  it("ends its queries when closed", async () => {
    const names = createSystemNames();
    const query = names.resolve("never-resolved-posthorn.test").catch(() => []);
    names.close();
    await query;
  });
});
