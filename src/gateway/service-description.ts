import { createHash } from "node:crypto";
import { profiles } from "../core/profiles/index.ts";
import { sourceDefaults } from "../core/gateway/source.ts";
import type { ServiceDescription } from "../services/gateway/gateway-services.ts";

/** The configuration of the deployment. */
export interface DescribedDeployment {
  readonly durability: "sqlite" | "postgresql";
  readonly payloadBytesMax: number;
  readonly payloadDays: number;
  readonly historyDays: number;
}

/** Generated from the same data that deliveries use, so it describes the actual behaviour (EDS-9.7-6). */
export function describeService(deployment: DescribedDeployment): ServiceDescription {
  const content = {
    service: "posthorn gateway",
    modes: {
      pass_through:
        "2xx is answered only after the destination accepted the message. There is one attempt, or as many as fit into the time budget of the source; a repeat with the same key goes to the destinations that have not accepted yet.",
      store_and_forward:
        "2xx is answered once message, deliveries and key are committed together. Delivery follows the retry schedule of the destination's profile; messages that are not accepted within it become dead letters and can be replayed.",
    },
    durability: durability[deployment.durability],
    idempotency_key:
      "The value of Idempotency-Key is sent on byte for byte with every attempt, retry and replay. Without one the message gets a key of the gateway, stable over repeats of the same message.",
    deduplication: { window_ms_default: sourceDefaults.dedupMs, window_ms_min: 86_400_000 },
    retention: { payload_days: deployment.payloadDays, history_days: deployment.historyDays },
    limits: { payload_bytes_max: deployment.payloadBytesMax },
    retry_schedules: profiles.map(({ name, schedule }) => ({ profile: name, schedule })),
  };
  const version = createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 12);
  return { version, content };
}

const durability = {
  sqlite: "SQLite, synced to disk before the answer (WAL, synchronous=FULL).",
  postgresql: "PostgreSQL, committed before the answer, with the server's synchronous_commit setting.",
} as const;
