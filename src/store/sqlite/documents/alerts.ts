import type { StatementSync } from "node:sqlite";
import type { AlertMute, AlertRecord } from "../../../features/alerts/alert.ts";
import type { Page } from "../../../ports/store.ts";
import type {
  AlertChange,
  AlertQuery,
  AlertRuleName,
  AlertStore,
  StoredAlertRule,
} from "../../../ports/store/alerts.ts";
import type { AuditEntry } from "../../../ports/store/audit.ts";
import type { StepResult } from "../../../ports/store/upkeep.ts";
import {
  type AlertDocumentRow,
  type AlertListRow,
  currentAlertsMax,
  tenantColumn,
  toAlert,
  toAlertMute,
  toAlertPage,
  toAlertRule,
  visibleAlert,
} from "../../document-rows.ts";
import type { AuditRows } from "./audit.ts";
import type { Connection } from "../driver/connection.ts";

export class SqliteAlerts implements AlertStore {
  readonly #connection: Connection;
  readonly #audit: AuditRows;
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(connection: Connection, audit: AuditRows) {
    this.#connection = connection;
    this.#audit = audit;
    this.#statements = prepareStatements(connection);
  }

  async rules(): Promise<readonly StoredAlertRule[]> {
    return this.#all<AlertDocumentRow>(this.#statements.rules).map(toAlertRule);
  }

  async saveRule(rule: StoredAlertRule, audit?: AuditEntry): Promise<void> {
    this.#connection.write(() => {
      this.#statements.saveRule.run(tenantColumn(rule.tenantId), rule.name, JSON.stringify(rule));
      this.#audit.write(audit);
    });
  }

  async deleteRule(rule: AlertRuleName, audit?: AuditEntry): Promise<boolean> {
    return this.#connection.write(() => {
      const { changes } = this.#statements.deleteRule.run(tenantColumn(rule.tenantId), rule.name);
      if (Number(changes) === 0) return false;
      this.#audit.write(audit);
      return true;
    });
  }

  async current(endedAfter: number): Promise<readonly AlertRecord[]> {
    return this.#all<AlertDocumentRow>(this.#statements.current, endedAfter, currentAlertsMax).map(toAlert);
  }

  async save({ put, remove }: AlertChange): Promise<void> {
    this.#connection.write(() => {
      for (const alert of put) {
        const { id, tenantId, rule, state, resolvedAt } = alert;
        this.#statements.put.run(id, tenantId, rule, state, resolvedAt, JSON.stringify(alert));
      }
      for (const id of remove) this.#statements.remove.run(id);
    });
  }

  async get(query: { readonly tenantId: string | null; readonly id: string }): Promise<AlertRecord | null> {
    const row = this.#connection.read(() => this.#statements.get.get(query.id));
    return visibleAlert(row as unknown as AlertDocumentRow | undefined, query.tenantId);
  }

  async list(query: AlertQuery): Promise<Page<AlertRecord>> {
    const { tenantId, states, rule, page } = query;
    const { before, limit, offset } = page;
    const rows = this.#all<AlertListRow>(
      this.#statements.list,
      before ?? Number.MAX_SAFE_INTEGER,
      tenantId,
      states.length === 0 ? null : JSON.stringify(states),
      rule,
      limit + 1,
      offset,
    );
    return toAlertPage(rows, query);
  }

  async mutes(): Promise<readonly AlertMute[]> {
    return this.#all<AlertDocumentRow>(this.#statements.mutes).map(toAlertMute);
  }

  async saveMute(mute: AlertMute, audit?: AuditEntry): Promise<void> {
    this.#connection.write(() => {
      this.#statements.saveMute.run(mute.key, mute.until, JSON.stringify(mute));
      this.#audit.write(audit);
    });
  }

  async forget(before: number, limit: number): Promise<StepResult> {
    return this.#connection.write(() => {
      this.#statements.forgetMutes.run(before);
      const changed = Number(this.#statements.forget.run(before, limit).changes);
      return { changed, more: changed === limit };
    });
  }

  #all<Row>(statement: StatementSync, ...values: (string | number | null)[]): readonly Row[] {
    return this.#connection.read(() => statement.all(...values)) as unknown as readonly Row[];
  }
}

function prepareStatements(connection: Connection) {
  const prepare = (sql: string): StatementSync => connection.prepare(sql);
  return {
    rules: prepare("SELECT document FROM alert_rules ORDER BY tenant, name"),
    saveRule: prepare("INSERT OR REPLACE INTO alert_rules (tenant, name, document) VALUES (?, ?, ?)"),
    deleteRule: prepare("DELETE FROM alert_rules WHERE tenant = ? AND name = ?"),
    current: prepare(
      "SELECT document FROM alerts WHERE ended_at IS NULL OR ended_at > ? ORDER BY seq LIMIT ?",
    ),
    put: prepare(
      `INSERT INTO alerts (id, tenant, rule, state, ended_at, document) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET state = excluded.state, ended_at = excluded.ended_at,
         document = excluded.document`,
    ),
    remove: prepare("DELETE FROM alerts WHERE id = ?"),
    get: prepare("SELECT document FROM alerts WHERE id = ?"),
    list: prepare(
      `SELECT seq, document FROM alerts WHERE seq < ?1 AND (?2 IS NULL OR tenant = ?2)
         AND (?3 IS NULL OR state IN (SELECT value FROM json_each(?3))) AND (?4 IS NULL OR rule = ?4)
       ORDER BY seq DESC LIMIT ?5 OFFSET ?6`,
    ),
    mutes: prepare("SELECT document FROM alert_mutes"),
    saveMute: prepare("INSERT OR REPLACE INTO alert_mutes (key, until, document) VALUES (?, ?, ?)"),
    forgetMutes: prepare("DELETE FROM alert_mutes WHERE until < ?"),
    forget: prepare("DELETE FROM alerts WHERE seq IN (SELECT seq FROM alerts WHERE ended_at < ? LIMIT ?)"),
  };
}
