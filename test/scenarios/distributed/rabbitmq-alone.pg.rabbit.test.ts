import { oneCompanion } from "./one-companion.ts";

oneCompanion({
  companion: "rabbitmq",
  // Each worker has half of the limit, and one of them may have most of the webhooks.
  unusedS: 8,
  isUsed: ({ consumers }) => consumers === 2,
  metrics: { has: /^posthorn_queue_connected 1$/m, lacks: /^posthorn_shared_state_/m },
});
