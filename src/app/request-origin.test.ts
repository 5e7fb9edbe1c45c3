import assert from "node:assert/strict";
import { test } from "node:test";
import { requestOriginOf } from "./examine-receiver.ts";

test("CEW-4.1.2-1 the origin is the configured one, else the public name, else a reserved name", () => {
  const publicUrl = "https://hooks.example.com/base";
  assert.equal(requestOriginOf({ origin: "events.example.com", publicUrl }), "events.example.com");
  assert.equal(requestOriginOf({ origin: null, publicUrl }), "hooks.example.com");
  for (const other of [null, "http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost:8080"])
    assert.equal(requestOriginOf({ origin: null, publicUrl: other }), "posthorn.invalid");
});
