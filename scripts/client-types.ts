// `npm run client-types`: writes src/client/api-types.ts.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { profiles } from "../src/domain/profiles/index.ts";
import type { OpenStreams } from "../src/features/live/event-streams.ts";
import type { ApiOptions } from "../src/http/context.ts";
import { createOpenApi } from "../src/http/openapi.ts";
import { createRoutes } from "../src/http/route-table.ts";
import type { CheckResult } from "./check.ts";
import { type ApiDocument, apiTypes } from "./client-types/api-types.ts";
import { projectRoot } from "./source-files.ts";

const clientTypesPath = "src/client/api-types.ts";

/** Returns the formatted contents of the file. */
function clientTypes(): string {
  const formatter = join(projectRoot, "node_modules", "@biomejs", "biome", "bin", "biome");
  return execFileSync(process.execPath, [formatter, "format", `--stdin-file-path=${clientTypesPath}`], {
    cwd: projectRoot,
    input: apiTypes(apiDocument()),
    encoding: "utf8",
    maxBuffer: 16 * 1_024 * 1_024,
  });
}

/** Fails if the file differs from the API. */
export function checkClientTypes(): CheckResult {
  const isCurrent = readFileSync(join(projectRoot, clientTypesPath), "utf8") === clientTypes();
  return {
    problems: isCurrent ? [] : [`${clientTypesPath} is older than the API; run: npm run client-types`],
  };
}

/** A stub for every service. Routes only pass the services on while they are described. */
const stub: unknown = new Proxy(() => stub, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => 1 : stub),
  apply: () => stub,
});

/** The OpenAPI document without a server. Describing a route does not call any of its services. */
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
  return createOpenApi(createRoutes(options, stub as OpenStreams), false) as unknown as ApiDocument;
}

if (import.meta.main) writeFileSync(join(projectRoot, clientTypesPath), clientTypes());
