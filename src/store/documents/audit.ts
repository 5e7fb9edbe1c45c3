import type {
  AuditEntry,
  AuditFilter,
  AuditSearch,
  AuditStore,
  StoredAuditEntry,
} from "../../ports/store/audit.ts";
import type { SearchPage } from "../../ports/store/search.ts";
import { parseLossless } from "../../domain/json/lossless.ts";
import type { Sql } from "./sql.ts";
import { sql, type Value } from "./statement.ts";

const edges = sql<readonly [newest: number, oldest: number]>(
  "SELECT coalesce(max(seq), 0), coalesce(min(seq), 0) FROM posthorn.audit_log",
);
const window = sql<AuditRow>(
  `SELECT seq, document FROM posthorn.audit_log WHERE seq < $1 AND seq >= $2
     AND ($3::text IS NULL OR tenant = $3) AND ($4::text IS NULL OR strpos(actor, $4) > 0)
     AND ($5::text IS NULL OR action = $5 OR substr(action, 1, length($5) + 1) = $5 || '.')
     AND ($6::text IS NULL OR target = $6) AND ($7::bigint IS NULL OR at >= $7) AND ($8::bigint IS NULL OR at <= $8)
   ORDER BY seq DESC LIMIT $9`,
);
const writtenAt = sql<readonly [at: number]>(
  "SELECT at FROM posthorn.audit_log WHERE seq >= $1 ORDER BY seq LIMIT 1",
);

/** Number of rows examined in one step of a search. */
const rowsAtOnce = 2_000;

type AuditRow = readonly [seq: number, document: string];

/** Reads use the maintenance pool. Searches have no index; they scan backwards in windows. */
export class Audit implements AuditStore {
  readonly #sql: Sql;
  readonly #maintenance: Sql;

  constructor(events: Sql, maintenance: Sql) {
    this.#sql = events;
    this.#maintenance = maintenance;
  }

  append(entry: AuditEntry): Promise<void> {
    return this.#sql.write(entry);
  }

  /** Ends when the page is full or the budget is spent. Newer rows have higher positions. */
  async search({ filter, after, limit, budget }: AuditSearch): Promise<SearchPage<StoredAuditEntry>> {
    const found: AuditRow[] = [];
    const [[newest, oldest] = [0, 0]] = await this.#maintenance.read(edges());
    for (let below = after?.position ?? newest + 1; ; ) {
      const from = Math.max(oldest, below - rowsAtOnce);
      const wanted = limit + 1 - found.length;
      found.push(
        ...(await this.#maintenance.searchStep(window(below, from, ...parametersOf(filter), wanted))),
      );
      budget.spend(rowsAtOnce);
      const rows = found.slice(0, limit).map(toEntry);
      const isFull = found.length > limit;
      if (!isFull && from <= oldest) return { rows, next: null, searchedTo: null, isCutShort: false };
      if (isFull || budget.isSpent) {
        const position = isFull ? (rows.at(-1)?.position ?? from) : from;
        const next = { position, dueAt: null };
        return { rows, next, searchedTo: await this.#writtenAt(position), isCutShort: !isFull };
      }
      below = from;
    }
  }

  /** When the row at a position was written. If that row is missing, returns the time of the next newer row. */
  async #writtenAt(position: number): Promise<number | null> {
    const [row] = await this.#maintenance.read(writtenAt(position));
    return row?.[0] ?? null;
  }
}

/** In parameter order: tenant, actor, action, target, from, to. */
function parametersOf(filter: AuditFilter): readonly Value[] {
  const { tenantId, actor, action, target, from, to } = filter;
  return [tenantId, actor === null ? null : `\n${actor}\n`, action, target, from, to];
}

function toEntry([seq, document]: AuditRow): StoredAuditEntry {
  return Object.assign(parseLossless(document) as AuditEntry, { position: seq });
}
