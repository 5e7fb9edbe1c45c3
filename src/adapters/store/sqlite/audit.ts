import { setImmediate } from "node:timers/promises";
import type { StatementSync } from "node:sqlite";
import type { AuditEntry, AuditSearch, AuditStore, StoredAuditEntry } from "../../../ports/store/audit.ts";
import type { SearchPage } from "../../../ports/store/search.ts";
import { actorText, auditParameters, auditRowsAtOnce, type AuditRow, toAuditEntry } from "../audit-rows.ts";
import type { Connection } from "./connection.ts";

/** Writes rows of the audit log. Only inside a write. */
export class AuditRows {
  readonly #insert: StatementSync;

  constructor(connection: Connection) {
    this.#insert = connection.prepare(
      "INSERT INTO audit_log (at, tenant, action, actor, target, document) VALUES (?, ?, ?, ?, ?, ?)",
    );
  }

  write(entry: AuditEntry | undefined): void {
    if (entry === undefined) return;
    const { at, tenantId, action, target } = entry;
    this.#insert.run(at, tenantId, action, actorText(entry), target.id, JSON.stringify(entry));
  }
}

/** Without an index: a search walks back in short turns, with others in between. */
export class SqliteAudit implements AuditStore {
  readonly #connection: Connection;
  readonly #rows: AuditRows;
  readonly #newest: StatementSync;
  readonly #window: StatementSync;
  readonly #at: StatementSync;

  constructor(connection: Connection, rows: AuditRows) {
    this.#connection = connection;
    this.#rows = rows;
    this.#newest = connection.prepare("SELECT coalesce(max(seq), 0), coalesce(min(seq), 0) FROM audit_log");
    this.#window = connection.prepare(
      `SELECT seq, document FROM audit_log WHERE seq < ?1 AND seq >= ?2 AND (?3 IS NULL OR tenant = ?3)
       AND (?4 IS NULL OR instr(actor, ?4) > 0)
       AND (?5 IS NULL OR action = ?5 OR substr(action, 1, length(?5) + 1) = ?5 || '.')
       AND (?6 IS NULL OR target = ?6) AND (?7 IS NULL OR at >= ?7) AND (?8 IS NULL OR at <= ?8)
       ORDER BY seq DESC LIMIT ?9`,
    );
    this.#at = connection.prepare("SELECT at FROM audit_log WHERE seq >= ? ORDER BY seq LIMIT 1");
  }

  async append(entry: AuditEntry): Promise<void> {
    this.#connection.write(() => this.#rows.write(entry));
  }

  async search({ filter, after, limit, budget }: AuditSearch): Promise<SearchPage<StoredAuditEntry>> {
    const parameters = auditParameters(filter);
    const found: AuditRow[] = [];
    const [newest, oldest] = this.#connection.read(() => this.#newest.get()) as unknown as [number, number];
    for (let below = after?.position ?? newest + 1; ; ) {
      const from = Math.max(oldest, below - auditRowsAtOnce);
      const wanted = limit + 1 - found.length;
      const rows = this.#connection.read(() => this.#window.all(below, from, ...parameters, wanted));
      found.push(...(rows as unknown as AuditRow[]));
      budget.spend(auditRowsAtOnce);
      const shown = found.slice(0, limit).map(toAuditEntry);
      const position = found.length > limit ? (shown.at(-1)?.position ?? from) : from;
      if (found.length <= limit && from <= oldest)
        return { rows: shown, next: null, searchedTo: null, isCutShort: false };
      if (found.length > limit || budget.isSpent) {
        const isCutShort = found.length <= limit;
        const next = { position, dueAt: null };
        return { rows: shown, next, searchedTo: this.#createdAt(position), isCutShort };
      }
      below = from;
      await setImmediate();
    }
  }

  #createdAt(position: number): number | null {
    const row = this.#connection.read(() => this.#at.get(position)) as unknown as [at: number] | undefined;
    return row?.[0] ?? null;
  }
}
