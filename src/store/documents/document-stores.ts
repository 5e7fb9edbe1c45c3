import { Alerts } from "./alerts.ts";
import { Notifications } from "./notifications.ts";
import { Operations } from "./operations.ts";
import type { Sql } from "./sql.ts";

/** The document stores that every database has in the same form. */
export function documentStores(sql: Sql) {
  return {
    operations: new Operations(sql),
    alerts: new Alerts(sql),
    notifications: new Notifications(sql),
  };
}
