import { oneCompanion } from "./one-companion.suite.ts";

oneCompanion({
  companion: "redis",
  isUsed: ({ keys }) => keys.some((key) => key.startsWith("limit:")),
  metrics: { has: /^posthorn_shared_state_available 1$/m, lacks: /^posthorn_queue_/m },
});
