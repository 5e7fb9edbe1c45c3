import type { MovedPart, MovedRow, Stretch } from "../../../ports/store/moving.ts";
import { movedRow } from "../moved-values.ts";
import type { Runner } from "./database.ts";
import { keyColumns, within } from "./moving-sql.ts";

/** Sources of tables that are not read as they are. */
const sources: Readonly<Record<string, string>> = {
  // A version without pools omits them from documents. A document that already contains the pool is not parsed as JSON:
  // PostgreSQL refuses documents with half a surrogate pair, which older versions stored.
  tenants: `(SELECT id, CASE WHEN position('"workerPool":' || to_json(pool)::text IN document) > 0 THEN document
      ELSE jsonb_set(regexp_replace(document, '\\\\u(d[89a-f]..|0000)', '\\\\ufffd', 'gi')::jsonb,
        '{workerPool}', to_jsonb(pool))::text END AS document
    FROM posthorn.tenants) AS tenants`,
  // Skip keys whose event was deleted; they have no effect.
  dedup_keys: `(SELECT * FROM posthorn.dedup_keys k
    WHERE EXISTS (SELECT FROM posthorn.events e WHERE e.id = k.event)) AS dedup_keys`,
};

function sourceOf({ name }: MovedPart): string {
  return sources[name] ?? `posthorn.${name}`;
}

/** Rows of a part, in key order. */
export async function readPart(
  runner: Runner,
  part: MovedPart,
  { limit, ...stretch }: Stretch & { readonly limit: number },
): Promise<readonly MovedRow[]> {
  const key = keyColumns(part);
  const bounds = within(key, stretch);
  const rows = await runner.rows(
    `SELECT ${Object.keys(part.columns).join(", ")} FROM ${sourceOf(part)} ${bounds.sql}
     ORDER BY ${key.join(", ")} LIMIT ${limit}`,
    bounds.values,
  );
  return rows.map((row) => movedRow(part, row));
}

/** The database concatenates the rows, so that only the digest is sent. */
export async function fingerprintOf(runner: Runner, part: MovedPart, stretch: Stretch): Promise<string> {
  const key = keyColumns(part);
  const bounds = within(key, stretch);
  const [row] = await runner.rows<[fingerprint: string]>(
    `SELECT encode(sha256(convert_to(coalesce(string_agg(
       (${Object.keys(part.columns).join(", ")})::text, '' ORDER BY ${key.join(", ")}), ''), 'UTF8')), 'hex')
     FROM ${sourceOf(part)} ${bounds.sql}`,
    bounds.values,
  );
  return row?.[0] ?? "";
}

export async function countPart(runner: Runner, part: MovedPart): Promise<number> {
  const [row] = await runner.rows<[count: number]>(`SELECT count(*) FROM ${sourceOf(part)}`);
  return row?.[0] ?? 0;
}
