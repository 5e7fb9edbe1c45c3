import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPosthorn } from "../../../src/app/posthorn.ts";
import { resolveValues } from "../../../src/config/resolve.ts";
import { agreeable } from "./agreeable-transport.fixture.ts";
import type { OpenedApi } from "./client.fixture.ts";

/** The real server in this process with all roles, on a network on which every receiver accepts. */
export async function openServer(values: Parameters<typeof resolveValues>[0] = {}): Promise<OpenedApi> {
  const dataDir = await mkdtemp(join(tmpdir(), "posthorn-api-"));
  const resolution = resolveValues({ dataDir, port: 0, logLevel: "error", ...values });
  assert.equal(resolution.kind, "resolved");
  const running = await startPosthorn(resolution.settings, { transport: agreeable });
  assert.ok(running.url !== null);
  return {
    baseUrl: running.url,
    adminKey: running.adminKey,
    close: async () => {
      await running.stop();
      await rm(dataDir, { recursive: true });
    },
  };
}
