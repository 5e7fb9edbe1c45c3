import assert from "node:assert/strict";
import { test } from "node:test";
import { serverAddress } from "./server-address.ts";

test("behind several proxies the scheme of the first one applies", () => {
  for (const [forwarded, expected] of [
    [undefined, "http"],
    ["http", "http"],
    ["https", "https"],
    ["HTTPS", "https"],
    ["https,http", "https"],
    ["https, http", "https"],
    ["http, https", "http"],
  ] as const) {
    const headers = { host: "hooks.example.com", "x-forwarded-proto": forwarded };
    assert.equal(serverAddress({ basePath: "/hooks" }, headers), `${expected}://hooks.example.com/hooks`);
  }
});
