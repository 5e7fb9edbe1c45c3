import type { AuditEntry } from "../../ports/store/audit.ts";
import type { Page } from "../../ports/store.ts";
import { type Body, type Call, type Rows, rowsOf, sql } from "./statement.ts";

const insertAudit = sql(
  `INSERT INTO posthorn.audit_log (at, tenant, action, actor, target, document) VALUES ($1, $2, $3, $4, $5, $6)`,
);

/** The statements that write an audit row; empty if no entry is given. */
export function auditCalls(entry: AuditEntry | undefined): readonly Call[] {
  if (entry === undefined) return [];
  const { at, tenantId, action, target } = entry;
  return [insertAudit(at, tenantId, action, actorText(entry), target.id, JSON.stringify(entry))];
}

/** All names by which a filter may identify the actor, separated by line feeds, which names cannot contain. */
function actorText({ actor }: AuditEntry): string {
  const names = [actor.keyId, actor.keyName, actor.sessionId, actor.reference].filter(
    (name) => name !== null,
  );
  return `\n${names.join("\n")}\n`;
}

/** Runs the statements of document stores on one database. Rejects with StoreUnavailableError. */
export abstract class Sql {
  /** The rows of a statement that only reads. */
  abstract read<Row extends readonly unknown[]>(call: Call<Row>): Promise<readonly Row[]>;

  /** Like `read`, but for one step of a long search: the statement has a time limit, and other work runs first. */
  abstract searchStep<Row extends readonly unknown[]>(call: Call<Row>): Promise<readonly Row[]>;

  /** Runs statements in one transaction and sends them together. Returns the rows of each. */
  abstract run(calls: readonly Call[]): Promise<readonly Rows[]>;

  /** Runs a transaction whose later statements depend on the rows of earlier ones. */
  abstract transaction<Result>(body: () => Body<Result>): Promise<Result>;

  /** Writes the statements and the audit row. */
  async write(audit: AuditEntry | undefined, ...calls: readonly Call[]): Promise<void> {
    await this.run([...calls, ...auditCalls(audit)]);
  }

  /** Runs a statement that returns the rows it changed. Also writes the audit row if one is given. */
  async change<Row extends readonly unknown[]>(
    audit: AuditEntry | undefined,
    call: Call<Row>,
  ): Promise<readonly Row[]> {
    if (audit === undefined) {
      const [rows = []] = await this.run([call]);
      return rows as readonly Row[];
    }
    return this.transaction(function* () {
      const rows = yield* rowsOf(call);
      if (rows.length > 0) yield auditCalls(audit);
      return rows;
    });
  }
}

/** A document with its position. Each new row gets a higher position. */
export type PlacedDocument = readonly [seq: number, document: string];

/** Converts rows to a page, newest first. One row more than the limit shows whether there are older rows. */
export function pageOf<Record>(
  rows: readonly PlacedDocument[],
  limit: number,
  toRecord: (document: string, seq: number) => Record,
): Page<Record> {
  const shown = rows.slice(0, limit);
  return {
    rows: shown.map(([seq, document]) => toRecord(document, seq)),
    next: rows.length > limit ? (shown.at(-1)?.[0] ?? null) : null,
  };
}

/**
 * The deployment is stored under the empty name, because a primary key cannot be null. No tenant can have the empty
 * name.
 */
export function tenantColumn(tenantId: string | null): string {
  return tenantId ?? "";
}
