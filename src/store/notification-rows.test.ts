import assert from "node:assert/strict";
import { test } from "node:test";
import { freshStatus } from "../features/notifications/notification.ts";
import { toChannel } from "./notification-rows.ts";

test("a channel saved before webhooks could be selected covers all of them", () => {
  const { channel, status } = toChannel([
    JSON.stringify({ id: "c", kind: "email" }),
    null,
    null,
    null,
    null,
    null,
    null,
  ]);
  assert.deepEqual([channel.id, channel.webhookIds, status], ["c", null, freshStatus]);
});
