import assert from "node:assert/strict";
import { oneCompanion } from "./one-companion.ts";

oneCompanion({
  companion: "rabbitmq",
  // Each worker has half of the limit, and one of them may have most of the webhooks.
  unusedS: 8,
  assertUsed: ({ consumers }) => assert.equal(consumers, 2),
  metrics: { has: /^posthorn_queue_connected 1$/m, lacks: /^posthorn_shared_state_/m },
});
