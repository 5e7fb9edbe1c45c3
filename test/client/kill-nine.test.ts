import assert from "node:assert/strict";
import { test } from "node:test";
import { killApplications } from "./outbox-kills.fixture.ts";

test("an application that is killed between its commits and the publish has published everything exactly once", async () => {
  const { orders, between } = await killApplications(5);
  assert.ok(orders > 5);
  assert.ok(between > 0, "no kill came between a commit and its publish");
});
