/**
 * A schema as a set of lines, one for each object that the database contains. Neither the order of columns nor the
 * wording of the statements is included, so a schema created in one step equals a schema created by many migrations.
 */
import type { DatabaseSync } from "node:sqlite";

export type Query = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/**
 * Each query returns one column of lines. The table of migrations is omitted, because it records how the schema was
 * created.
 */
const postgresLines = [
  `SELECT format('%s: %s%s', c.relname,
     CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table, partitioned by ' || pg_get_partkeydef(c.oid)
       WHEN 'v' THEN 'view ' || pg_get_viewdef(c.oid) ELSE c.relkind::text END,
     concat(CASE WHEN c.relispartition THEN ' ' || pg_get_expr(c.relpartbound, c.oid) END, ' WITH ' || c.reloptions::text,
       CASE WHEN c.relpersistence <> 'p' THEN ' unlogged' END))
   FROM pg_class c WHERE c.relnamespace = 'posthorn'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')`,
  `SELECT format('%s.%s: %s%s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
     CASE WHEN a.attnotnull THEN ' NOT NULL' END, ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid),
     CASE a.attidentity WHEN 'a' THEN ' IDENTITY ALWAYS' WHEN 'd' THEN ' IDENTITY BY DEFAULT' END,
     CASE WHEN a.attstorage <> t.typstorage THEN ' STORAGE ' || a.attstorage::text END)
   FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
   LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
   WHERE c.relnamespace = 'posthorn'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped`,
  `SELECT format('%s: index %s%s', c.relname, pg_get_indexdef(i.indexrelid), CASE WHEN NOT i.indisvalid THEN ' INVALID' END)
   FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = 'posthorn'::regnamespace`,
  `SELECT format('%s: constraint %s %s', conrelid::regclass::text, conname, pg_get_constraintdef(oid))
   FROM pg_constraint WHERE connamespace = 'posthorn'::regnamespace`,
  `SELECT format('sequence %s: %s from %s by %s', sequencename, data_type, start_value, increment_by)
   FROM pg_sequences WHERE schemaname = 'posthorn'`,
  `SELECT regexp_replace(pg_get_functiondef(oid), '\\s+', ' ', 'g')
   FROM pg_proc WHERE pronamespace = 'posthorn'::regnamespace`,
  `SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
   WHERE c.relnamespace = 'posthorn'::regnamespace AND NOT t.tgisinternal`,
  `SELECT format('type %s: %s', t.typname, (SELECT string_agg(enumlabel, ', ' ORDER BY enumsortorder)
     FROM pg_enum WHERE enumtypid = t.oid))
   FROM pg_type t WHERE t.typnamespace = 'posthorn'::regnamespace AND t.typtype IN ('e', 'd')`,
];

export async function postgresSchema(query: Query): Promise<string> {
  const lines: string[] = [];
  for (const sql of postgresLines)
    for (const row of await query(sql)) lines.push(...Object.values(row).map((line) => String(line)));
  const tables = await query(
    `SELECT relname FROM pg_class WHERE relnamespace = 'posthorn'::regnamespace AND relkind = 'r'`,
  );
  for (const { relname } of tables) {
    const rows = await query(`SELECT * FROM posthorn.${String(relname)}`);
    for (const row of rows) lines.push(`${String(relname)}: row ${sortedJson(row)}`);
  }
  return withoutMigrations(lines);
}

export function sqliteSchema(db: DatabaseSync): string {
  const query = (sql: string, ...values: string[]) =>
    db.prepare(sql).all(...values) as Record<string, unknown>[];
  const lines: string[] = [];
  for (const { name, type, wr, strict } of query("PRAGMA table_list")) {
    const table = String(name);
    if (table.startsWith("sqlite_")) continue;
    const options = `${wr === 1 ? " WITHOUT ROWID" : ""}${strict === 1 ? " STRICT" : ""}`;
    lines.push(`${table}: ${String(type)}${options}`);
    for (const column of query("SELECT * FROM pragma_table_xinfo(?)", table)) {
      const { cid: _, name: columnName, ...rest } = column;
      lines.push(`${table}.${String(columnName)}: ${sortedJson(rest)}`);
    }
    for (const { name: index, unique, origin, partial } of query(
      "SELECT * FROM pragma_index_list(?)",
      table,
    )) {
      const parts = query("SELECT name, desc, coll FROM pragma_index_xinfo(?) WHERE key", String(index));
      const columns = parts.map((part) => Object.values(part).join(" ")).join(", ");
      lines.push(`${table}: index ${JSON.stringify({ unique, origin, partial })} (${columns})`);
    }
    for (const row of query(`SELECT * FROM ${table}`)) lines.push(`${table}: row ${sortedJson(row)}`);
  }
  for (const { type, tbl_name: table, sql } of query("SELECT * FROM sqlite_schema WHERE sql IS NOT NULL")) {
    const text = String(sql).replaceAll(/--.*$/gm, "").replaceAll(/\s+/g, " ").trim();
    if (type !== "table") lines.push(`${String(table)}: ${text}`);
    else for (const check of checksIn(text)) lines.push(`${String(table)}: ${check}`);
  }
  return withoutMigrations(lines);
}

/** `CHECK (…)`, `GENERATED ALWAYS AS (…)`, `REFERENCES …` and `COLLATE …`, which no pragma reports completely. */
function checksIn(sql: string): readonly string[] {
  const found: string[] = [];
  for (const match of sql.matchAll(/\b(?:CHECK|AS) ?\(/g)) {
    let depth = 1;
    let end = match.index + match[0].length;
    for (; depth > 0 && end < sql.length; end += 1) depth += { "(": 1, ")": -1 }[sql[end] ?? ""] ?? 0;
    found.push(sql.slice(match.index, end));
  }
  return [...found, ...(sql.match(/\b(?:REFERENCES|COLLATE) [^,]*|\bAUTOINCREMENT\b/g) ?? [])];
}

function sortedJson(row: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(
    Object.fromEntries(Object.entries(row).toSorted(([one], [other]) => (one < other ? -1 : 1))),
  );
}

function withoutMigrations(lines: readonly string[]): string {
  return `${lines.filter((line) => !/^(posthorn\.)?migrations[.:]/.test(line)).join("\n")}\n`;
}
