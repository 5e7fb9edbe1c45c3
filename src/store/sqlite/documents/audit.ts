import { setImmediate } from "node:timers/promises";
import type { StatementSync } from "node:sqlite";
import type { AuditEntry, AuditSearch, AuditStore, StoredAuditEntry } from "../../../ports/store/audit.ts";
import type { SearchPage } from "../../../ports/store/search.ts";
import {
  actorText,
  auditParameters,
  type AuditRow,
  type AuditWindow,
  searchAuditLog,
} from "../../document-rows.ts";
import type { Connection } from "../driver/connection.ts";

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

/** Searches without an index: walks back in short turns, so that other work runs in between. */
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

  search({ filter, ...page }: AuditSearch): Promise<SearchPage<StoredAuditEntry>> {
    const parameters = auditParameters(filter);
    const log = {
      edges: async () => this.#read<[newest: number, oldest: number]>(() => this.#newest.get()),
      window: async ({ below, from, limit }: AuditWindow) => {
        await setImmediate();
        return this.#read<AuditRow[]>(() => this.#window.all(below, from, ...parameters, limit));
      },
      createdAt: async (position: number) =>
        this.#read<[at: number] | undefined>(() => this.#at.get(position))?.[0] ?? null,
    };
    return searchAuditLog(log, page);
  }

  #read<Rows>(query: () => unknown): Rows {
    return this.#connection.read(query) as Rows;
  }
}
