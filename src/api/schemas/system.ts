import { Type } from "./type.ts";
import { closed, instant, nullableSchema, oneOf } from "./building-blocks.ts";

const available = Type.Boolean();

/** State of the responding process. */
export const systemSchema = closed(
  {
    version: Type.String(),
    roles: Type.Array(oneOf(["api", "scheduler", "worker", "gateway"])),
    started_at: instant("When this process started."),
    uptime_seconds: Type.Integer(),
    ready: Type.Boolean({ description: "As in `/readyz`." }),
    reasons: Type.Array(Type.String()),
    warnings: Type.Array(Type.String(), {
      description: "Configured features whose role no process of the deployment runs.",
    }),
    worker_pools: nullableSchema(
      Type.Array(
        closed({ name: Type.String(), workers: Type.Integer({ description: "Number of live workers." }) }),
        {
          description: "Null while the store cannot report it.",
        },
      ),
    ),
    store: closed({
      kind: oneOf(["sqlite", "postgresql"]),
      schema_version: nullableSchema(Type.Integer({ description: "Number of the latest migration." })),
      size_bytes: nullableSchema(
        Type.Integer({ description: "Data and indexes on disk, without transaction logs." }),
      ),
    }),
    queue: closed({ kind: oneOf(["store", "rabbitmq"]), available }),
    shared_state: closed({ kind: oneOf(["process", "redis"]), available }),
    retention: closed({
      payload_days: Type.Number(),
      history_days: Type.Number(),
      audit_days: Type.Number(),
    }),
    settings: Type.Array(
      closed({
        name: Type.String(),
        value: Type.String({ description: "As text; secrets are masked." }),
        source: nullableSchema(oneOf(["flag", "environment", "file", "option", "default"])),
        from: nullableSchema(Type.String({ description: "The flag, variable or file that set it." })),
      }),
    ),
  },
  { title: "System" },
);
