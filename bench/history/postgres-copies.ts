import pg from "pg";
import { blockSize } from "../../src/store/postgres/events/positions.ts";
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

type Row = Readonly<Record<string, string>>;
type Run = (sql: string, values?: unknown[]) => Promise<readonly Row[]>;

/** Fills the rest of the day with copies of its first block. Indices are made at the end, which is quicker. */
export async function copyInPostgres(url: string, block: HistoryBlock): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await copyAll(async (sql, values) => (await client.query<Row>(sql, values)).rows, block);
  } finally {
    await client.end();
  }
}

async function copyAll(run: Run, block: HistoryBlock): Promise<void> {
  await run("SET search_path = posthorn; SET synchronous_commit = off; SET maintenance_work_mem = '512MB'");
  await run(
    `CREATE TEMP TABLE places AS SELECT (j.place - 1)::int AS place, l.webhook, l.ref AS lane
     FROM unnest($1::text[]) WITH ORDINALITY AS j (word, place)
     JOIN words w ON w.word = j.word JOIN lanes l ON l.webhook = w.ref`,
    [block.webhookIds],
  );
  const last = await lastRows(run);
  // Positions are given out in blocks, from 1.
  const drawn = {
    events: Math.floor(last.event / blockSize),
    deliveries: Math.floor(last.delivery / blockSize),
  };
  const each = { events: drawn.events * blockSize, deliveries: drawn.deliveries * blockSize };
  const indices = await run(
    `SELECT i.indexname AS name, replace(i.indexdef, ' ON ONLY ', ' ON ') AS sql FROM pg_indexes i
     WHERE i.schemaname = 'posthorn' AND i.tablename IN ('events', 'deliveries', 'attempts')
       AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conname = i.indexname)`,
  );
  for (const { name } of indices) await run(`DROP INDEX ${name}`);
  for (const shift of shiftsOf(block, each.events, each.deliveries)) {
    await run(
      `DROP TABLE IF EXISTS moved; CREATE TEMP TABLE moved AS ${movedSql(block, shift)}; ANALYZE moved`,
    );
    for (const table of copiedTables(block, dialectOf(shift, last), shift, last))
      await run(copySql(table, await columnsOf(run, table.name)));
  }
  const blocks = block.copies + 1;
  await run(
    `UPDATE counters SET value = value * ${blocks}; UPDATE tenant_sequences SET last = last * ${blocks}`,
  );
  await run("SELECT setval('event_blocks', $1), setval('delivery_blocks', $2)", [
    drawn.events * blocks,
    drawn.deliveries * blocks,
  ]);
  for (const { sql = "" } of indices) await run(sql);
  await run("VACUUM (ANALYZE)");
}

async function lastRows(run: Run): Promise<LastRows> {
  const [row] = await run(
    "SELECT (SELECT max(seq) FROM events) AS event, (SELECT max(seq) FROM deliveries) AS delivery",
  );
  return { event: Number(row?.["event"]), delivery: Number(row?.["delivery"]) };
}

async function columnsOf(run: Run, table: string): Promise<readonly string[]> {
  const columns = await run(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
    [table],
  );
  return columns.map(({ name = "" }) => name);
}

function dialectOf(shift: Shift, last: LastRows): Dialect {
  const ofDelivery = {
    changed: { delivery: `r.delivery + ${shift.deliveries}` },
    where: `r.delivery <= ${last.delivery}`,
  };
  return {
    idAt: (id, time) => `(lpad(to_hex(${time}), 12, '0') || substr(replace(${id}::text, '-', ''), 13))::uuid`,
    events: {
      occurred_at: later("occurred_at", shift),
      sequence_number: `r.sequence_number + ${shift.copy} *
        (SELECT t.last FROM tenant_sequences t WHERE t.tenant = r.tenant)`,
    },
    attempts: {
      name: "attempts",
      where: ofDelivery.where,
      joins: movedBy("webhook"),
      changed: { ...ofDelivery.changed, webhook: "m.webhook" },
    },
    more: [
      {
        name: "queue",
        where: ofDelivery.where,
        joins: movedBy("lane", "lane_was"),
        changed: { ...ofDelivery.changed, lane: "m.lane" },
      },
      { name: "dead_letters", ...ofDelivery },
    ],
  };
}
