import type { AlertRecord } from "../../core/alerts/alert-record.ts";
import type { AlertMessage } from "../../core/alerts/due-messages.ts";
import type {
  NotificationContent,
  NotificationLanguage,
  NotificationSeverity,
} from "../../core/notifications/notification.ts";

const words = {
  en: {
    fires: "Alert",
    over: "Resolved",
    more: (count: number) => `and ${count} more`,
    for: (minutes: number) => `lasted ${minutes} min`,
    since: "since",
    details: "Details: posthorn alerts list, or the Alerts page of the dashboard.",
  },
  de: {
    fires: "Alarm",
    over: "Behoben",
    more: (count: number) => `und ${count} weitere`,
    for: (minutes: number) => `dauerte ${minutes} min`,
    since: "seit",
    details: "Einzelheiten: posthorn alerts list, oder die Seite Alerts der Oberfläche.",
  },
} as const;

const linesMax = 20;
const ranks: readonly NotificationSeverity[] = ["info", "warning", "critical"];

/** One notification for all alerts of a group. */
export function alertContent(message: AlertMessage, language: NotificationLanguage): NotificationContent {
  const { fired, resolved } = message;
  const say = words[language];
  const [first] = [...fired, ...resolved];
  const count = fired.length + resolved.length;
  const more = count > 1 ? ` (${say.more(count - 1)})` : "";
  const isOver = fired.length === 0;
  const lines = [
    ...fired.map((alert) => `${say.fires}: ${lineOf(alert)} ${say.since} ${timeOf(alert.since)}`),
    ...resolved.map((alert) => `${say.over}: ${lineOf(alert)} ${say.for(minutesOf(alert))}`),
  ];
  return {
    subject: `${isOver ? say.over : say.fires}: ${first?.title ?? ""}${more}`,
    text: [...lines.slice(0, linesMax), say.details].join("\n\n"),
    facts: [],
    severity: isOver ? "info" : worstOf(fired),
    link: null,
    resolves: isOver,
  };
}

function lineOf({ title, summary }: AlertRecord): string {
  return `${title}: ${summary},`;
}

function minutesOf({ since, resolvedAt }: AlertRecord): number {
  return Math.max(1, Math.round(((resolvedAt ?? since) - since) / 60_000));
}

function timeOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function worstOf(alerts: readonly AlertRecord[]): NotificationSeverity {
  const rank = Math.max(...alerts.map(({ severity }) => ranks.indexOf(severity)));
  return ranks[rank] ?? "info";
}
