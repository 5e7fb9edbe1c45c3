import type { AlertRule } from "./alert-rule.ts";

const minute = 60_000;
const hour = 60 * minute;

type Told = Pick<AlertRule, "name" | "title" | "description" | "severity" | "source" | "threshold"> &
  Partial<AlertRule>;

function rule(told: Told): AlertRule {
  return {
    ...{ tenantId: null, isDefault: true, metric: null, comparison: "above" },
    ...{ windowMs: 5 * minute, forMs: 0, keepFiringForMs: minute, attemptsMin: 0 },
    ...{ webhookId: null, eventType: null, audience: "operator", enabled: true },
    ...{ mutedUntil: null, muteReason: null, runbook: told.name },
    ...told,
  };
}

/** What Posthorn looks at without being asked. The thresholds are those of WDS-205 to 241. */
export const defaultAlertRules: readonly AlertRule[] = [
  rule({
    ...{ name: "circuit-opened", title: "Circuit opened", severity: "warning", source: "circuit" },
    description: "The circuit of a webhook is not closed: nothing is sent there but probes (WDS-236).",
    threshold: 0,
  }),
  rule({
    ...{ name: "circuit-open-long", title: "Circuit open for an hour", severity: "critical" },
    description: "The circuit of a webhook has not closed for an hour (WDS-237).",
    ...{ source: "circuit", threshold: 0, forMs: hour },
  }),
  rule({
    ...{ name: "dead-letters", title: "Many dead letters", severity: "warning", source: "dead_letters" },
    description: "A tenant has more dead letters than this (WDS-238).",
    threshold: 1_000,
  }),
  rule({
    ...{ name: "success-rate", title: "Many attempts fail", severity: "warning", source: "success_rate" },
    description:
      "Of the attempts of a webhook fewer than this share was accepted within five minutes (WDS-239).",
    ...{ comparison: "below", threshold: 0.9, attemptsMin: 50 },
  }),
  rule({
    ...{ name: "workers-busy", title: "Workers are busy", severity: "warning", source: "places" },
    description:
      "More than this share of the slots for active or for waiting requests is used, for ten minutes (WDS-240).",
    ...{ threshold: 0.8, forMs: 10 * minute },
  }),
  rule({
    ...{ name: "queue-deep", title: "Many deliveries wait", severity: "critical", source: "waiting" },
    description: "More deliveries wait than this (WDS-241).",
    threshold: 10_000,
  }),
  rule({
    ...{ name: "deliveries-late", title: "Deliveries leave late", severity: "critical", source: "late" },
    description:
      "The oldest delivery that no gate, rate limit or receiver holds back has been due for more than so many seconds (WDS-241).",
    ...{ threshold: 60, forMs: minute, runbook: "deliveries-late" },
  }),
  rule({
    ...{ name: "publisher-silent", title: "A publisher is silent", severity: "info" },
    description:
      "No event of a type was published in the last whole hour, though in this hour of each of the last seven days some were.",
    ...{ source: "silent_publisher", threshold: 0, runbook: "publishers-silent" },
  }),
  rule({
    ...{ name: "payload-growth", title: "Payloads grow", severity: "warning", source: "payload_growth" },
    description:
      "The mean payload of the last hour is so many times that of the seven days before, and above 20,000 bytes.",
    ...{ threshold: 2, runbook: null },
  }),
  rule({
    ...{
      name: "statistics-behind",
      title: "Statistics are behind",
      severity: "warning",
      source: "statistics",
    },
    description: "What was counted more than so many seconds ago is not stored: rules look at old numbers.",
    ...{ threshold: 300, forMs: minute },
  }),
  rule({
    ...{ name: "retention-behind", title: "Retention is behind", severity: "warning", source: "retention" },
    description:
      "No round of upkeep has ended for so many seconds: it fails, or more is stored than it removes.",
    ...{ threshold: 3_600, forMs: minute },
  }),
  rule({
    ...{ name: "disk-low", title: "The disk is nearly full", severity: "warning", source: "disk" },
    description: "More than this share of the disk with the data folder is used. Not told of PostgreSQL's.",
    ...{ threshold: 0.9, forMs: minute },
  }),
  rule({
    ...{ name: "no-workers", title: "Nobody delivers", severity: "critical", source: "workers" },
    description: "A pool that serves a tenant has no worker.",
    ...{ threshold: 0, forMs: 30_000 },
  }),
  rule({
    ...{ name: "queue-away", title: "RabbitMQ is away", severity: "critical", source: "queue" },
    description:
      "The queue could not be reached again in three attempts (WDS-212). Deliveries go on through the database.",
    ...{ threshold: 0, forMs: 15_000 },
  }),
  rule({
    ...{ name: "shared-state-away", title: "Redis is away", severity: "critical", source: "shared_state" },
    description: "The shared state does not answer (WDS-209). Each worker keeps to its part of the limits.",
    ...{ threshold: 0 },
  }),
  rule({
    ...{ name: "store-away", title: "The database does not answer", severity: "critical", source: "store" },
    description:
      "Five calls of the database in a row failed (WDS-205). Nothing is accepted until it is back.",
    ...{ threshold: 5, runbook: "store-stuck" },
  }),
  rule({
    ...{ name: "dns-failing", title: "A name cannot be resolved", severity: "warning", source: "dns" },
    description:
      "Of the attempts of a webhook within ten minutes more than this share found no address (WDS-215).",
    ...{ threshold: 0.8, windowMs: 10 * minute, attemptsMin: 3, audience: "tenant", runbook: "success-rate" },
  }),
];

/** What follows from what: while the first fires, the others are not told. `webhook`: those of the same one alone. */
export const alertInhibitions: readonly {
  readonly source: string;
  readonly silences: readonly string[];
  readonly within: "everything" | "webhook";
}[] = [
  {
    source: "store-away",
    silences: [
      "queue-deep",
      "deliveries-late",
      "success-rate",
      "publisher-silent",
      "no-workers",
      "statistics-behind",
      "retention-behind",
    ],
    within: "everything",
  },
  { source: "no-workers", silences: ["queue-deep", "deliveries-late"], within: "everything" },
  { source: "circuit-opened", silences: ["success-rate"], within: "webhook" },
  { source: "dns-failing", silences: ["success-rate"], within: "webhook" },
];
