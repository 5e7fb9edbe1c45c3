import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiClient } from "./api-client.ts";

for (const [url, flag] of [
  ["http://127.0.0.1:8080", ""],
  ["http://127.0.0.1:8080/", ""],
  ["http://127.0.0.1:9000", " --url http://127.0.0.1:9000"],
  ["https://example.com/posthorn/", " --url https://example.com/posthorn"],
] as const) {
  test(`a command for ${url} is proposed with ${flag === "" ? "no address" : flag.trim()}`, () => {
    assert.equal(new ApiClient({ url, key: "key" }).urlFlag, flag);
  });
}
