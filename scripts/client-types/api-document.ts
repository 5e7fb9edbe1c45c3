/** The OpenAPI document without a server: routes are data, and nothing of it is asked while they are described. */
import type { ApiOptions } from "../../src/http/context.ts";
import { createOpenApi } from "../../src/http/openapi.ts";
import { createRoutes } from "../../src/http/route-table.ts";
import type { OpenStreams } from "../../src/features/live/event-streams.ts";
import { profiles } from "../../src/domain/profiles/index.ts";
import type { ApiDocument } from "./api-types.ts";

/** Stands for all that routes only pass on. */
const stub: unknown = new Proxy(() => stub, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => 1 : stub),
  apply: () => stub,
});

export function apiDocument(): ApiDocument {
  const names = [
    "services",
    "secretBox",
    "clock",
    "random",
    "log",
    "metrics",
    "callRates",
    "system",
    "dashboard",
  ];
  const options = {
    ...Object.fromEntries(names.map((name) => [name, stub])),
    profiles,
    cursorKey: Buffer.alloc(32),
    limits: { payloadBytesMax: 262_144, connectionsMax: 1 },
  } as unknown as ApiOptions;
  return createOpenApi(createRoutes(options, stub as OpenStreams), { dev: false }) as unknown as ApiDocument;
}
