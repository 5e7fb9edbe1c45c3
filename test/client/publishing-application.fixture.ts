// An application that tests kill: `node publishing-application.fixture.ts FILE URL KEY ROUND`. It commits orders
// together with their events, while the outbox publishes. Prints a line after each commit.
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../../src/client/index.ts";
import { Outbox } from "../../src/client/outbox/index.ts";
import { systemTime } from "../../src/client/caller.ts";
import { openSqliteOutboxStore } from "../../src/client/outbox/sqlite-store.ts";

const [, , file = "", url = "", key = "", round = ""] = process.argv;
const database = new DatabaseSync(file, { timeout: 5_000 });
database.exec("CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY)");
const insert = database.prepare("INSERT INTO orders (id) VALUES (?)");
// Each run starts after the leases of the killed run have expired.
const time = { ...systemTime, now: () => Date.now() + Number(round) * 120_000 };
const client = createClient({ url, key });
const outbox = new Outbox({ client, store: openSqliteOutboxStore(file), pollMs: 5, time });

outbox.start();
for (let n = 0; ; n += 1) {
  const id = `${round}-${n}`;
  database.exec("BEGIN IMMEDIATE");
  insert.run(id);
  const timestamp = new Date().toISOString();
  outbox.add({ event_type: "order.completed", data: { order_id: id }, timestamp }, database);
  database.exec("COMMIT");
  process.stdout.write(`committed ${id}\n`);
  // Waits between commits: sometimes not at all, and sometimes long enough for the outbox to send.
  if (n % 3 === 0) await sleep(n % 20);
}
