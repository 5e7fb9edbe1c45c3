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
import { storable } from "../../column-values.ts";
import { writeAudited } from "./audit.ts";
import { numbers, texts } from "../driver/columns.ts";
import type { Database } from "../driver/database.ts";

export class PostgresAlerts implements AlertStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async rules(): Promise<readonly StoredAlertRule[]> {
    const rows = await this.#database.rows<AlertDocumentRow>(
      "SELECT document FROM posthorn.alert_rules ORDER BY tenant, name",
    );
    return rows.map(toAlertRule);
  }

  async saveRule(rule: StoredAlertRule, audit?: AuditEntry): Promise<void> {
    await writeAudited(this.#database, audit, {
      sql: `INSERT INTO posthorn.alert_rules (tenant, name, document) VALUES ($1, $2, $3)
            ON CONFLICT (tenant, name) DO UPDATE SET document = excluded.document`,
      values: [tenantColumn(rule.tenantId), rule.name, storable(JSON.stringify(rule))],
    });
  }

  async deleteRule(rule: AlertRuleName, audit?: AuditEntry): Promise<boolean> {
    const rows = await writeAudited(this.#database, audit, {
      sql: "DELETE FROM posthorn.alert_rules WHERE tenant = $1 AND name = $2 RETURNING 1",
      values: [tenantColumn(rule.tenantId), rule.name],
    });
    return rows.length > 0;
  }

  async current(endedAfter: number): Promise<readonly AlertRecord[]> {
    const rows = await this.#database.rows<AlertDocumentRow>(
      "SELECT document FROM posthorn.alerts WHERE ended_at IS NULL OR ended_at > $1 ORDER BY seq LIMIT $2",
      [endedAfter, currentAlertsMax],
    );
    return rows.map(toAlert);
  }

  async save({ put, remove }: AlertChange): Promise<void> {
    const alerts = put.toSorted((left, right) => (left.id < right.id ? -1 : 1));
    await this.#database.transaction(async (transaction) => {
      if (alerts.length > 0)
        await transaction.rows(
          `INSERT INTO posthorn.alerts (id, tenant, rule, state, ended_at, document)
           SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
           ON CONFLICT (id) DO UPDATE SET state = excluded.state, ended_at = excluded.ended_at,
             document = excluded.document`,
          [
            texts(alerts.map(({ id }) => id)),
            texts(alerts.map(({ tenantId }) => tenantId)),
            texts(alerts.map(({ rule }) => rule)),
            texts(alerts.map(({ state }) => state)),
            numbers(alerts.map(({ resolvedAt }) => resolvedAt)),
            texts(alerts.map((alert) => JSON.stringify(alert))),
          ],
        );
      if (remove.length > 0)
        await transaction.rows("DELETE FROM posthorn.alerts WHERE id = ANY ($1::text[])", [texts(remove)]);
    });
  }

  async get(query: { readonly tenantId: string | null; readonly id: string }): Promise<AlertRecord | null> {
    const [row] = await this.#database.rows<AlertDocumentRow>(
      "SELECT document FROM posthorn.alerts WHERE id = $1",
      [query.id],
    );
    return visibleAlert(row, query.tenantId);
  }

  async list(query: AlertQuery): Promise<Page<AlertRecord>> {
    const { tenantId, states, rule, page } = query;
    const { before, limit, offset } = page;
    const rows = await this.#database.rows<AlertListRow>(
      `SELECT seq, document FROM posthorn.alerts WHERE seq < $1 AND ($2::text IS NULL OR tenant = $2)
         AND ($3::text[] IS NULL OR state = ANY ($3)) AND ($4::text IS NULL OR rule = $4)
       ORDER BY seq DESC LIMIT $5 OFFSET $6`,
      [
        before ?? Number.MAX_SAFE_INTEGER,
        tenantId,
        states.length === 0 ? null : texts(states),
        rule,
        limit + 1,
        offset,
      ],
    );
    return toAlertPage(rows, query);
  }

  async mutes(): Promise<readonly AlertMute[]> {
    const rows = await this.#database.rows<AlertDocumentRow>("SELECT document FROM posthorn.alert_mutes");
    return rows.map(toAlertMute);
  }

  async saveMute(mute: AlertMute, audit?: AuditEntry): Promise<void> {
    await writeAudited(this.#database, audit, {
      sql: `INSERT INTO posthorn.alert_mutes (key, until, document) VALUES ($1, $2, $3)
            ON CONFLICT (key) DO UPDATE SET until = excluded.until, document = excluded.document`,
      values: [mute.key, mute.until, storable(JSON.stringify(mute))],
    });
  }

  async forget(before: number, limit: number): Promise<StepResult> {
    await this.#database.rows("DELETE FROM posthorn.alert_mutes WHERE until < $1", [before]);
    const rows = await this.#database.rows(
      `DELETE FROM posthorn.alerts WHERE seq = ANY (ARRAY(
         SELECT seq FROM posthorn.alerts WHERE ended_at < $1 LIMIT $2)) RETURNING 1`,
      [before, limit],
    );
    return { changed: rows.length, more: rows.length === limit };
  }
}
