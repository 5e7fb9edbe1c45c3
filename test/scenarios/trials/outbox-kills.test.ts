// An application with an outbox is killed 50 times.
import assert from "node:assert/strict";
import { test } from "node:test";
import { killApplications } from "../../client/outbox-kills.fixture.ts";

test("50 kills of an application between its commits and the publish: everything is published once", async (t) => {
  const { orders, between, sending } = await killApplications(50);
  assert.ok(between > 0 && sending > 0);
  t.diagnostic(
    `${orders} orders; events waited after ${between} kills, ${sending} came while a batch was on its way`,
  );
});
