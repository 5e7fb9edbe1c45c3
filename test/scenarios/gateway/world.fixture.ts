import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningPosthorn, startPosthorn } from "../../../src/app/posthorn.ts";
import { resolveValues } from "../../../src/config/resolve.ts";
import { type Client, createClient } from "../api/client.fixture.ts";
import type { Json } from "./scene.fixture.ts";

export interface GatewayWorld {
  readonly url: string;
  readonly admin: Client;
  readonly running: RunningPosthorn;
  close(): Promise<void>;
}

const nothing = (): void => undefined;
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** The whole server in this process, with its own data folder. */
export async function openGateway(settings: Json = {}): Promise<GatewayWorld> {
  const dataDir = mkdtempSync(join(tmpdir(), "posthorn-gateway-"));
  const resolution = resolveValues({ dataDir, port: 0, dev: true, logLevel: "error", ...settings });
  assert.equal(resolution.kind, "resolved");
  const running = await startPosthorn(resolution.settings, { log: silent });
  const url = running.url ?? "";
  return {
    url,
    running,
    admin: createClient({ baseUrl: url, key: running.adminKey }),
    close: async () => {
      await running.stop();
      rmSync(dataDir, { recursive: true });
    },
  };
}
