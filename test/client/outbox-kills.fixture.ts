import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { createClient } from "../../src/client/index.ts";
import { Outbox } from "../../src/client/outbox/index.ts";
import { openSqliteOutboxStore } from "../../src/client/outbox/sqlite-store.ts";
import { systemTime } from "../../src/client/caller.ts";
import { openServer } from "../scenarios/api/running-server.fixture.ts";
import { SeededRandom } from "../simulation/seeded-random.ts";

const program = fileURLToPath(new URL("publishing-application.fixture.ts", import.meta.url));
const commitsMax = 40;

export interface KillsReport {
  readonly orders: number;
  /** Number of kills that left committed events waiting. */
  readonly between: number;
  /** Number of these kills that happened while a batch was in flight. */
  readonly sending: number;
}

/**
 * Kills an application with signal 9 this many times, each time after a different number of commits. Afterwards, every
 * committed event must have been published exactly once, and no other events.
 */
export async function killApplications(times: number): Promise<KillsReport> {
  const server = await openServer();
  const directory = mkdtempSync(join(tmpdir(), "posthorn-outbox-kills-"));
  const file = join(directory, "application.db");
  const random = new SeededRandom(`outbox kills ${times}`);
  try {
    const report = { between: 0, sending: 0 };
    const outbox = openOutbox(file, server);
    for (let round = 0; round < times; round += 1) {
      await runUntil(random.int({ min: 1, max: commitsMax }), [
        file,
        server.baseUrl,
        server.adminKey,
        String(round),
      ]);
      const { waiting, claimed } = leftIn(file);
      if (waiting > 0) report.between += 1;
      if (claimed > 0) report.sending += 1;
    }
    // Entries claimed by the last run become available when its lease expires.
    await outbox.flush();
    const orders = await compare(file, server);
    outbox.close();
    return { orders, ...report };
  } finally {
    await server.close();
    rmSync(directory, { recursive: true });
  }
}

interface Server {
  readonly baseUrl: string;
  readonly adminKey: string;
}

/** The outbox as a later run of the application opens it. */
function openOutbox(file: string, { baseUrl, adminKey }: Server) {
  const store = openSqliteOutboxStore(file);
  const client = createClient({ url: baseUrl, key: adminKey });
  const time = { ...systemTime, now: () => Date.now() + dayMs };
  const outbox = new Outbox({ client, store, time });
  return { flush: () => outbox.flush(), close: () => store.close() };
}

const dayMs = 86_400_000;

function leftIn(file: string): { readonly waiting: number; readonly claimed: number } {
  // Opened for writing, because opening the file rolls back transactions that the kill left incomplete.
  const database = new DatabaseSync(file);
  const counts = database
    .prepare("SELECT count(*) AS waiting, count(token) AS claimed FROM posthorn_outbox")
    .get();
  database.close();
  return counts as { waiting: number; claimed: number };
}

async function runUntil(commits: number, args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let seen = 0;
  for await (const chunk of child.stdout) {
    seen += String(chunk).split("\n").length - 1;
    if (seen >= commits) break;
  }
  child.kill("SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  assert.ok(seen >= commits, "the application ended by itself");
}

async function compare(file: string, { baseUrl, adminKey }: Server): Promise<number> {
  const database = new DatabaseSync(file, { readOnly: true });
  const orders = database.prepare("SELECT id FROM orders ORDER BY id").all() as { id: string }[];
  database.close();
  const client = createClient({ url: baseUrl, key: adminKey });
  const published: string[] = [];
  for await (const { id } of client.events.list({ limit: 250 })) {
    const { data } = await client.events.get(id);
    published.push((data as { order_id: string }).order_id);
  }
  assert.deepEqual(
    published.toSorted(),
    orders.map(({ id }) => id),
  );
  return orders.length;
}
