import { randomUUID } from "node:crypto";
import type { AlertRecord } from "../../../src/features/alerts/alert.ts";
import type { AlertStore, StoredAlertRule } from "../../../src/ports/store/alerts.ts";
import type { StatisticsStore } from "../../../src/ports/store/statistics.ts";
import { Alerts } from "../../../src/features/alerts/alert-service.ts";
import type { AlertService } from "../../../src/features/services.ts";

const firing: AlertRecord = {
  id: randomUUID(),
  rule: "queue-deep",
  ruleTenantId: null,
  severity: "critical",
  title: "Many wait",
  audience: "operator",
  tenantId: null,
  webhookId: null,
  subject: "installation",
  summary: "many wait",
  state: "firing",
  value: 2,
  threshold: 1,
  since: 0,
  lastHeldAt: 0,
  firedAt: 0,
  resolvedAt: null,
  firedToldAt: null,
  resolvedToldAt: null,
  inhibitedBy: null,
};

/** Rules in a map, and one alert that always fires. */
export function createStandInAlerts(given: {
  readonly now: () => number;
  readonly tenantExists: (id: string) => boolean;
}): AlertService {
  const rules = new Map<string, StoredAlertRule>();
  const keyOf = ({ tenantId, name }: Pick<StoredAlertRule, "tenantId" | "name">) => `${tenantId} ${name}`;
  const isSeen = (tenantId: string | null) => tenantId === null;
  const store: AlertStore = {
    rules: async () => [...rules.values()],
    saveRule: async (rule) => void rules.set(keyOf(rule), rule),
    deleteRule: async (rule) => rules.delete(keyOf(rule)),
    current: async () => [firing],
    save: async () => undefined,
    get: async (tenantId, id) => (isSeen(tenantId) && id === firing.id ? firing : null),
    list: async ({ tenantId }) => ({ rows: isSeen(tenantId) ? [firing] : [], next: null }),
    mutes: async () => [],
    saveMute: async () => undefined,
    forget: async () => ({ changed: 0, more: false }),
  };
  const statistics = { read: async () => ({ rows: [], next: null }), readGauges: async () => [] };
  return new Alerts({
    store,
    statistics: statistics as unknown as StatisticsStore,
    isCounting: true,
    access: { webhook: () => undefined },
    tenants: { has: given.tenantExists },
    clock: { now: given.now } as never,
  });
}
