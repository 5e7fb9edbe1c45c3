import { oneCompanion } from "./one-companion.suite.ts";

oneCompanion({
  companion: "rabbitmq",
  isUsed: ({ consumers }) => consumers === 2,
  metrics: { has: /^posthorn_queue_connected 1$/m, lacks: /^posthorn_shared_state_/m },
});
