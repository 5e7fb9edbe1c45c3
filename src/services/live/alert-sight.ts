import type { AlertView, Alerts } from "../alerts/alert-service.ts";
import type { Scope } from "../services.ts";
import type { LiveNews, Sight } from "./live-news.ts";

export interface AlertSightOptions {
  readonly alerts: Pick<Alerts, "list">;
  readonly scope: Scope;
}

const rowsMax = 50;

/** The newest alerts of whoever listens; what changes of them is told. */
export class AlertSight implements Sight {
  readonly #options: AlertSightOptions;
  #told = new Map<string, string>();

  constructor(options: AlertSightOptions) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    await this.look();
  }

  /** They are few, and telling them once more does no harm. */
  async missedSince(): Promise<readonly LiveNews[]> {
    return news(await this.#read());
  }

  async look(): Promise<readonly LiveNews[]> {
    const rows = await this.#read();
    const now = new Map(rows.map((row) => [row.alert.id, textOf(row)]));
    const changed = rows.filter(({ alert }) => now.get(alert.id) !== this.#told.get(alert.id));
    this.#told = now;
    return news(changed);
  }

  async #read(): Promise<readonly AlertView[]> {
    const { alerts, scope } = this.#options;
    const page = { limit: rowsMax, before: null, offset: 0 };
    return (await alerts.list(scope, { states: null, rule: null, tenantId: null, page })).rows;
  }
}

function news(rows: readonly AlertView[]): readonly LiveNews[] {
  return rows.length === 0 ? [] : [{ kind: "alerts", topic: { kind: "alerts" }, rows }];
}

/** When it was looked at last is no news. */
function textOf({ alert, mutedUntil, muteReason }: AlertView): string {
  return JSON.stringify({ ...alert, lastHeldAt: 0, mutedUntil, muteReason });
}
