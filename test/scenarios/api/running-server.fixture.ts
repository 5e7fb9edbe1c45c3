import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Overrides, type RunningPosthorn, startPosthorn } from "../../../src/app/posthorn.ts";
import { resolveValues } from "../../../src/config/resolve.ts";
import type { Logger } from "../../../src/ports/telemetry.ts";
import { agreeable } from "./agreeable-transport.fixture.ts";
import { type Client, createClient, type OpenedApi } from "./client.fixture.ts";

export interface RunningServer extends OpenedApi {
  readonly running: RunningPosthorn;
  readonly admin: Client;
}

/**
 * The real server in this process, with all roles and a data folder. Without `overrides`, it is on a network on which
 * every receiver accepts events.
 */
export async function openServer(
  values: Parameters<typeof resolveValues>[0] = {},
  overrides: Overrides = { transport: agreeable },
): Promise<RunningServer> {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-server-"));
  const resolution = resolveValues({ dataDir, port: 0, logLevel: "error", ...values });
  assert.equal(resolution.kind, "resolved");
  const running = await startPosthorn(resolution.settings, overrides);
  assert.ok(running.url !== null);
  return {
    baseUrl: running.url,
    adminKey: running.adminKey,
    running,
    admin: createClient({ baseUrl: running.url, key: running.adminKey }),
    close: async () => {
      await running.stop();
      await rm(dataDir, { recursive: true });
    },
  };
}

const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Starts the server without a log, in development mode, which allows receivers on this machine. */
export function openGateway(values: Parameters<typeof resolveValues>[0] = {}): Promise<RunningServer> {
  return openServer({ dev: true, ...values }, { log: silent });
}
