import type { AlertMute, AlertRecord } from "../../features/alerts/alert.ts";
import type {
  AlertChange,
  AlertQuery,
  AlertRuleName,
  AlertStore,
  StoredAlertRule,
} from "../../ports/store/alerts.ts";
import type { AuditEntry } from "../../ports/store/audit.ts";
import type { StepResult } from "../../ports/store/upkeep.ts";
import type { Page } from "../../ports/store.ts";
import { ownedBy } from "../history-rows.ts";
import { type PlacedDocument, pageOf, type Sql, tenantColumn } from "./sql.ts";
import { batch, sql } from "./statement.ts";

const rules = sql<DocumentRow>("SELECT document FROM posthorn.alert_rules ORDER BY tenant, name");
const saveRule = sql(
  `INSERT INTO posthorn.alert_rules (tenant, name, document) VALUES ($1, $2, $3)
   ON CONFLICT (tenant, name) DO UPDATE SET document = excluded.document`,
);
const deleteRule = sql("DELETE FROM posthorn.alert_rules WHERE tenant = $1 AND name = $2 RETURNING name");
const current = sql<DocumentRow>(
  "SELECT document FROM posthorn.alerts WHERE ended_at IS NULL OR ended_at > $1 ORDER BY seq LIMIT $2",
);
const put = sql(
  `INSERT INTO posthorn.alerts (id, tenant, rule, state, ended_at, document)
   SELECT id, tenant, rule, state, ended_at, document
   FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
     AS g (id, tenant, rule, state, ended_at, document) WHERE true
   ON CONFLICT (id) DO UPDATE SET state = excluded.state, ended_at = excluded.ended_at, document = excluded.document`,
);
const remove = sql("DELETE FROM posthorn.alerts WHERE id = ANY ($1::text[])");
const byId = sql<DocumentRow>("SELECT document FROM posthorn.alerts WHERE id = $1");
const list = sql<PlacedDocument>(
  `SELECT seq, document FROM posthorn.alerts WHERE seq < $1 AND ($2::text IS NULL OR tenant = $2)
     AND ($3::boolean OR state = ANY ($4::text[])) AND ($5::text IS NULL OR rule = $5)
   ORDER BY seq DESC LIMIT $6 OFFSET $7`,
);
const mutes = sql<DocumentRow>("SELECT document FROM posthorn.alert_mutes");
const saveMute = sql(
  `INSERT INTO posthorn.alert_mutes (key, until, document) VALUES ($1, $2, $3)
   ON CONFLICT (key) DO UPDATE SET until = excluded.until, document = excluded.document`,
);
const forgetMutes = sql("DELETE FROM posthorn.alert_mutes WHERE until < $1");
const forget = sql(
  `DELETE FROM posthorn.alerts
   WHERE seq IN (SELECT seq FROM posthorn.alerts WHERE ended_at < $1 LIMIT $2) RETURNING seq`,
);

/** Maximum number of alerts evaluated in one round. If there are more, they probably have one common cause. */
const currentAlertsMax = 5_000;

type DocumentRow = readonly [document: string];

export class Alerts implements AlertStore {
  readonly #sql: Sql;

  constructor(events: Sql) {
    this.#sql = events;
  }

  async rules(): Promise<readonly StoredAlertRule[]> {
    const rows = await this.#sql.read(rules());
    return rows.map(([document]) => JSON.parse(document) as StoredAlertRule);
  }

  saveRule(rule: StoredAlertRule, audit?: AuditEntry): Promise<void> {
    const row = [tenantColumn(rule.tenantId), rule.name, JSON.stringify(rule)];
    return this.#sql.write(audit, saveRule(...row));
  }

  async deleteRule({ tenantId, name }: AlertRuleName, audit?: AuditEntry): Promise<boolean> {
    const deleted = await this.#sql.change(audit, deleteRule(tenantColumn(tenantId), name));
    return deleted.length > 0;
  }

  async current(endedAfter: number): Promise<readonly AlertRecord[]> {
    const rows = await this.#sql.read(current(endedAfter, currentAlertsMax));
    return rows.map(([document]) => toAlert(document));
  }

  /** Rows are locked in the order of their ids. */
  async save(change: AlertChange): Promise<void> {
    const alerts = change.put.toSorted((left, right) => (left.id < right.id ? -1 : 1));
    const rows = alerts.map((alert) => {
      const { id, tenantId, rule, state, resolvedAt } = alert;
      return [id, tenantId, rule, state, resolvedAt, JSON.stringify(alert)];
    });
    await this.#sql.run([...batch(put, rows), remove(change.remove)]);
  }

  async get(tenantId: string | null, id: string): Promise<AlertRecord | null> {
    const [row] = await this.#sql.read(byId(id));
    return ownedBy(tenantId, row === undefined ? null : toAlert(row[0]));
  }

  async list({ tenantId, states, rule, page }: AlertQuery): Promise<Page<AlertRecord>> {
    const before = page.before ?? Number.MAX_SAFE_INTEGER;
    const isAnyState = states.length === 0;
    const filter = [before, tenantId, isAnyState, states, rule] as const;
    const rows = await this.#sql.read(list(...filter, page.limit + 1, page.offset));
    return pageOf(rows, page.limit, toAlert);
  }

  async mutes(): Promise<readonly AlertMute[]> {
    const rows = await this.#sql.read(mutes());
    return rows.map(([document]) => JSON.parse(document) as AlertMute);
  }

  saveMute(mute: AlertMute, audit?: AuditEntry): Promise<void> {
    return this.#sql.write(audit, saveMute(mute.key, mute.until, JSON.stringify(mute)));
  }

  async forget(before: number, limit: number): Promise<StepResult> {
    const [, forgotten = []] = await this.#sql.run([forgetMutes(before), forget(before, limit)]);
    return { changed: forgotten.length, more: forgotten.length === limit };
  }
}

function toAlert(document: string): AlertRecord {
  return JSON.parse(document) as AlertRecord;
}
