import { DatabaseSync } from "node:sqlite";
import { chunkBits, chunkKinds } from "../../src/store/sqlite/driver/chunks.ts";
import {
  copiedTables,
  copySql,
  type Dialect,
  later,
  type LastRows,
  movedBy,
  movedSql,
  type Shift,
  shiftsOf,
} from "./copied-tables.ts";
import type { HistoryBlock } from "./load.ts";

/** Fills the rest of the day with copies of its first block, in one transaction. Nobody else has the file open. */
export function copyInSqlite(file: string, block: HistoryBlock): void {
  const db = new DatabaseSync(file);
  // What a crash leaves half of is thrown away anyway.
  db.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -524288; BEGIN");
  db.exec("CREATE TEMP TABLE places (place INTEGER PRIMARY KEY, webhook INTEGER, lane INTEGER)");
  db.prepare(
    `INSERT INTO places SELECT j.key, l.webhook, l.ref FROM json_each(?) j
       CROSS JOIN words w ON w.word = j.value CROSS JOIN lanes l ON l.webhook = w.ref`,
  ).run(JSON.stringify(block.webhookIds));
  db.exec("CREATE TEMP TABLE moved (was INTEGER PRIMARY KEY, lane_was INTEGER UNIQUE, webhook, lane)");
  const last = db
    .prepare("SELECT event_last AS event, delivery_last AS delivery FROM tally")
    .get() as unknown as LastRows;
  for (const shift of shiftsOf(block, last.event, last.delivery)) {
    db.exec(`DELETE FROM moved; INSERT INTO moved ${movedSql(block, shift)}`);
    for (const table of copiedTables(block, dialectOf(shift, last), shift, last)) {
      const columns = db.prepare("SELECT name FROM pragma_table_info(?)").all(table.name);
      db.exec(
        copySql(
          table,
          columns.map(({ name }) => String(name)),
        ),
      );
    }
  }
  db.exec(`${countedSql(block.copies + 1)} COMMIT`);
  db.close();
}

function dialectOf(shift: Shift, last: LastRows): Dialect {
  return {
    idAt: (id, time) => `printf('%08x-%04x-', (${time}) >> 16, (${time}) & 65535) || substr(${id}, 15)`,
    events: {
      timestamp: later("timestamp", shift),
      delivery_first: `r.delivery_first + ${shift.deliveries}`,
      sequence_number: `r.sequence_number + ${shift.copy} *
        (SELECT t.sequence_last FROM tenant_tallies t WHERE t.tenant = r.tenant)`,
    },
    attempts: {
      name: "attempts",
      changed: { key: `r.key + (${shift.deliveries} << 16)` },
      where: `r.key < ${last.delivery + 1} << 16`,
    },
    more: [
      {
        name: "lane_entries",
        changed: { delivery: `r.delivery + ${shift.deliveries}`, lane: "m.lane" },
        joins: movedBy("lane", "lane_was"),
        where: `r.delivery <= ${last.delivery}`,
      },
    ],
  };
}

function countedSql(blocks: number): string {
  const times = (...columns: string[]): string =>
    columns.map((column) => `${column} = ${column} * ${blocks}`).join();
  const chunks = (["events", "deliveries"] as const).map(
    (table) =>
      `INSERT OR REPLACE INTO chunks SELECT ${chunkKinds[table]}, seq >> ${chunkBits}, min(created_at), max(created_at)
       FROM ${table} GROUP BY seq >> ${chunkBits};`,
  );
  return `UPDATE tally SET ${times("waiting_high", "waiting_normal", "waiting_low", "event_last", "delivery_last")};
    UPDATE tally SET fresh_floor = delivery_last + 1;
    UPDATE tenant_tallies SET ${times("sequence_last", "dead_letters")};
    ${chunks.join("\n")}`;
}
