import { type NotificationLanguage, notificationLanguages } from "./notification.ts";

/** The English messages; they define the names of all messages. The first line of a message is its subject. */
const english = {
  "first_problem.subject": "Deliveries to {url} are failing",
  "first_problem.text":
    "{url} has not accepted anything since {since}.\n\nEvents are kept and retried; nothing is lost.",
  "half_time.subject": "{url} will be disabled on {disabled_at}",
  "half_time.text":
    "{url} has not accepted anything since {since}. If this continues, the webhook will be disabled on {disabled_at}.\n\nEvents are kept and retried until then.",
  "last_day.subject": "Last day: {url} will be disabled on {disabled_at}",
  "last_day.text":
    "{url} has not accepted anything since {since}. The webhook will be disabled on {disabled_at}, which is within a day.",
  "disabled.subject": "{url} was disabled",
  "disabled.text":
    "The webhook was disabled because {url} has not accepted anything since {since}.\n\nEvents are no longer sent. Once the receiver works, enable the webhook and recover what it missed.",
  "still_failing.subject": "Deliveries to {url} are still failing",
  "still_failing.text":
    "{url} has not accepted anything since {since}. No rule disables this webhook: events are retried according to their schedule and then become dead letters.",
  "recovered.subject": "{url} works again",
  "recovered.text":
    "{url} accepts events again. It failed for {duration}, from {since}; {failed} requests failed in that time.",
  "circuit_opened.subject": "The circuit of {url} is open",
  "circuit_opened.text":
    "Too many requests to {url} failed, so only probes are sent for now. Events wait until a probe is accepted.",
  "circuit_closed.subject": "The circuit of {url} is closed again",
  "circuit_closed.text": "Probes to {url} were accepted, so all waiting events are being sent.",
  "attention.subject": "{url} sent a response that needs your attention",
  "attention.text": "The response to an event was {status_code} ({reason}).",
  "exhausted.subject": "An event for {url} is now a dead letter",
  "exhausted.text":
    "An event of the type {event_type} failed after {attempts} attempts ({reason}). It is now a dead letter and can be retried.",
  "secret_rotated.subject": "{url} has a new signing secret",
  "secret_rotated.text":
    "Events for {url} are signed with a new secret. If this was not you, look into it now.",
  "paused.subject": "{url} was paused",
  "paused.text": "The webhook was paused. Events are kept and will be sent when it is resumed.",
  "resumed.subject": "{url} was resumed",
  "resumed.text": "The webhook was resumed. Waiting events are being sent.",
  "limit_reached.subject": "The limit of {value} webhooks is reached",
  "limit_reached.text": "A new webhook was refused because there are already {value}.",
  "problem_opened.subject": "A new problem at {url}",
  "problem_opened.text": "Deliveries to {url} keep failing in the same way: {reason}.",
  "problem_resolved.subject": "A problem at {url} is resolved",
  "problem_resolved.text": "Deliveries to {url} no longer fail in this way: {reason}.",
  "test.subject": "A test of this channel",
  "test.text": "This is what messages look like. No action is needed.",
  "confirm.subject": "Confirm that you want messages about webhooks",
  "confirm.text":
    "A person who manages webhooks wants to send messages about them to {address}. If that is right, open this page and confirm.\n\nIf you do not know what this is about, ignore this email: you will not receive another one.",
  "confirm.footer": "This is the only message to {address} unless it is confirmed.",
  "confirm.title": "Messages about webhooks",
  "confirm.ask": "Send messages about webhooks to {address}?",
  "confirm.button": "Yes, send them",
  "confirm.done": "{address} now gets messages about webhooks. Each has a link to unsubscribe.",
  "limited.subject": "{count} notifications in the last hour",
  "digest.more": "… and {count} more",
  "unsubscribe.again": "{address} does not receive messages about webhooks. Subscribe again?",
  "digest.subject": "{count} messages about webhooks",
  "label.webhook": "Webhook",
  "label.tenant": "Tenant",
  "label.since": "Failing since",
  "label.last_answer": "Last response",
  "label.waiting": "Waiting",
  "label.next": "Will be disabled",
  "footer.why": "You get this because {address} is a channel for messages about webhooks.",
  "footer.stop": "Unsubscribe: {link}",
  "unsubscribe.title": "Unsubscribe from messages about webhooks",
  "unsubscribe.ask": "Stop messages to {address}?",
  "unsubscribe.button": "Unsubscribe",
  "unsubscribe.done":
    "{address} will not receive any further messages. You can subscribe again here, or with the link in any earlier email.",
  "alert.fired.subject": "Alert: {title}",
  "alert.fired.text": "Alert: {title}: {summary}, since {since}",
  "alert.resolved.subject": "Resolved: {title}",
  "alert.resolved.text": "Resolved: {title}: {summary}, lasted {minutes} min",
  "alert.more": "and {count} more",
  "alert.details": "Details: posthorn alerts list, or the Alerts page of the dashboard.",
  "alert.title.circuit-opened": "Circuit opened",
  "alert.title.circuit-open-long": "Circuit open for an hour",
  "alert.title.dead-letters": "Many dead letters",
  "alert.title.success-rate": "Many attempts fail",
  "alert.title.workers-busy": "Workers are busy",
  "alert.title.queue-deep": "Many deliveries are waiting",
  "alert.title.deliveries-late": "Deliveries are sent late",
  "alert.title.publisher-silent": "A publisher is silent",
  "alert.title.payload-growth": "Payloads are growing",
  "alert.title.statistics-behind": "Statistics are behind",
  "alert.title.retention-behind": "Retention is behind",
  "alert.title.disk-low": "The disk is nearly full",
  "alert.title.no-workers": "A pool has no workers",
  "alert.title.queue-away": "RabbitMQ is unavailable",
  "alert.title.shared-state-away": "Redis is unavailable",
  "alert.title.store-away": "The database does not respond",
  "alert.title.dns-failing": "A name cannot be resolved",
} as const;

export type MessageName = keyof typeof english;

/** Names of the built-in alert rules. */
export type BuiltInAlert = MessageName extends infer Name
  ? Name extends `alert.title.${infer Rule}`
    ? Rule
    : never
  : never;

/** The built-in title of a built-in alert rule, in English. */
export function alertTitle(rule: BuiltInAlert): string {
  return english[`alert.title.${rule}`];
}

const german: Readonly<Record<MessageName, string>> = {
  "first_problem.subject": "Zustellungen an {url} schlagen fehl",
  "first_problem.text":
    "Seit {since} hat {url} nichts mehr angenommen.\n\nEreignisse werden aufbewahrt und erneut gesendet; es geht nichts verloren.",
  "half_time.subject": "{url} wird am {disabled_at} deaktiviert",
  "half_time.text":
    "Seit {since} hat {url} nichts mehr angenommen. Bleibt es dabei, wird der Webhook am {disabled_at} deaktiviert.\n\nBis dahin werden Ereignisse aufbewahrt und erneut gesendet.",
  "last_day.subject": "Letzter Tag: {url} wird am {disabled_at} deaktiviert",
  "last_day.text":
    "Seit {since} hat {url} nichts mehr angenommen. Der Webhook wird am {disabled_at} deaktiviert, also binnen eines Tages.",
  "disabled.subject": "{url} wurde deaktiviert",
  "disabled.text":
    "Der Webhook wurde deaktiviert, weil {url} seit {since} nichts mehr angenommen hat.\n\nEs wird nichts mehr gesendet. Sobald der Empfänger wieder läuft, aktivieren Sie den Webhook und senden Sie die verpassten Ereignisse erneut.",
  "still_failing.subject": "Zustellungen an {url} schlagen weiterhin fehl",
  "still_failing.text":
    "Seit {since} hat {url} nichts mehr angenommen. Keine Regel deaktiviert diesen Webhook: Ereignisse werden nach Zeitplan erneut gesendet und gelten danach als unzustellbar.",
  "recovered.subject": "{url} funktioniert wieder",
  "recovered.text":
    "{url} nimmt wieder Ereignisse an. Der Ausfall dauerte {duration} (seit {since}); in dieser Zeit schlugen {failed} Anfragen fehl.",
  "circuit_opened.subject": "An {url} wird vorerst nur probeweise gesendet",
  "circuit_opened.text":
    "So viele Anfragen an {url} schlugen fehl, dass nur noch einzelne Versuche gesendet werden. Ereignisse warten, bis ein Versuch angenommen wird.",
  "circuit_closed.subject": "{url} wird wieder beliefert",
  "circuit_closed.text": "Versuche an {url} wurden angenommen; wartende Ereignisse werden gesendet.",
  "attention.subject": "{url} hat eine Antwort gesendet, die Sie prüfen sollten",
  "attention.text": "Ein Ereignis wurde mit {status_code} beantwortet ({reason}).",
  "exhausted.subject": "Ein Ereignis für {url} ist unzustellbar",
  "exhausted.text":
    "Ein Ereignis vom Typ {event_type} ist nach {attempts} Versuchen unzustellbar ({reason}). Es kann erneut gesendet werden.",
  "secret_rotated.subject": "{url} hat ein neues Signaturgeheimnis",
  "secret_rotated.text":
    "Ereignisse für {url} werden mit einem neuen Geheimnis signiert. Falls Sie das nicht veranlasst haben, prüfen Sie es bitte sofort.",
  "paused.subject": "{url} wurde pausiert",
  "paused.text":
    "Der Webhook wurde pausiert. Ereignisse werden aufbewahrt und gesendet, sobald er fortgesetzt wird.",
  "resumed.subject": "{url} wurde fortgesetzt",
  "resumed.text": "Der Webhook wurde fortgesetzt. Wartende Ereignisse werden gesendet.",
  "limit_reached.subject": "Die Grenze von {value} Webhooks ist erreicht",
  "limit_reached.text": "Ein weiterer Webhook wurde abgelehnt, weil es bereits {value} gibt.",
  "problem_opened.subject": "Ein neues Problem bei {url}",
  "problem_opened.text": "Zustellungen an {url} schlagen immer wieder auf dieselbe Weise fehl: {reason}.",
  "problem_resolved.subject": "Ein Problem bei {url} ist behoben",
  "problem_resolved.text": "Zustellungen an {url} schlagen nicht mehr auf diese Weise fehl: {reason}.",
  "test.subject": "Testnachricht für diesen Kanal",
  "test.text": "So sehen Nachrichten aus. Sie müssen nichts tun.",
  "confirm.subject": "Bestätigen Sie, dass Sie Nachrichten über Webhooks erhalten möchten",
  "confirm.text":
    "Jemand, der Webhooks verwaltet, möchte Nachrichten darüber an {address} senden. Wenn das richtig ist, öffnen Sie diese Seite und bestätigen Sie es.\n\nWenn Sie nicht wissen, worum es geht, müssen Sie nichts tun: Sie erhalten keine weitere Nachricht.",
  "confirm.footer": "Dies ist die einzige Nachricht an {address}, solange die Adresse nicht bestätigt ist.",
  "confirm.title": "Nachrichten über Webhooks",
  "confirm.ask": "Nachrichten über Webhooks an {address} senden?",
  "confirm.button": "Ja, senden",
  "confirm.done":
    "{address} erhält von jetzt an Nachrichten über Webhooks. Jede enthält einen Link zum Abbestellen.",
  "limited.subject": "{count} Nachrichten in der letzten Stunde",
  "digest.more": "… und {count} weitere",
  "unsubscribe.again": "{address} erhält keine Nachrichten über Webhooks. Wieder abonnieren?",
  "digest.subject": "{count} Nachrichten über Webhooks",
  "label.webhook": "Webhook",
  "label.tenant": "Mandant",
  "label.since": "Fehlerhaft seit",
  "label.last_answer": "Letzte Antwort",
  "label.waiting": "Wartend",
  "label.next": "Deaktivierung",
  "footer.why": "Sie erhalten dies, weil {address} ein Kanal für Nachrichten über Webhooks ist.",
  "footer.stop": "Nachrichten abbestellen: {link}",
  "unsubscribe.title": "Nachrichten über Webhooks abbestellen",
  "unsubscribe.ask": "Nachrichten an {address} abbestellen?",
  "unsubscribe.button": "Beenden",
  "unsubscribe.done":
    "{address} erhält keine Nachrichten mehr. Sie können sie hier oder mit dem Link in einer früheren Nachricht wieder abonnieren.",
  "alert.fired.subject": "Alarm: {title}",
  "alert.fired.text": "Alarm: {title}: {summary}, seit {since}",
  "alert.resolved.subject": "Behoben: {title}",
  "alert.resolved.text": "Behoben: {title}: {summary}, dauerte {minutes} min",
  "alert.more": "und {count} weitere",
  "alert.details": "Details: posthorn alerts list oder die Seite Alerts im Dashboard.",
  "alert.title.circuit-opened": "Es wird nur noch probeweise gesendet",
  "alert.title.circuit-open-long": "Seit einer Stunde wird nur probeweise gesendet",
  "alert.title.dead-letters": "Viele unzustellbare Ereignisse",
  "alert.title.success-rate": "Viele Versuche schlagen fehl",
  "alert.title.workers-busy": "Worker sind ausgelastet",
  "alert.title.queue-deep": "Viele Zustellungen warten",
  "alert.title.deliveries-late": "Zustellungen gehen verspätet ab",
  "alert.title.publisher-silent": "Ein Sender veröffentlicht nichts mehr",
  "alert.title.payload-growth": "Inhalte werden größer",
  "alert.title.statistics-behind": "Die Statistik ist im Rückstand",
  "alert.title.retention-behind": "Das Aufräumen ist im Rückstand",
  "alert.title.disk-low": "Die Festplatte ist fast voll",
  "alert.title.no-workers": "Ein Pool hat keine Worker",
  "alert.title.queue-away": "RabbitMQ ist nicht erreichbar",
  "alert.title.shared-state-away": "Redis ist nicht erreichbar",
  "alert.title.store-away": "Die Datenbank antwortet nicht",
  "alert.title.dns-failing": "Ein Name lässt sich nicht auflösen",
};

/** Messages by name, with `{values}` as placeholders. */
type Messages = Readonly<Record<MessageName, string>>;

/** Messages that the host application replaces. */
export type MessageOverrides = Readonly<
  Partial<Record<NotificationLanguage, Readonly<Partial<Record<MessageName, string>>>>>
>;

/** Values of the placeholders; a placeholder without a value is left unchanged. */
type MessageValues = Readonly<Record<string, string | number>>;

const shipped: Readonly<Record<NotificationLanguage, Messages>> = { en: english, de: german };

/** The messages in all languages, with the host application's replacements. */
export class Wording {
  readonly #messages: Readonly<Record<NotificationLanguage, Messages>>;

  constructor(overrides: MessageOverrides = {}) {
    this.#messages = {
      en: { ...shipped.en, ...overrides.en },
      de: { ...shipped.de, ...overrides.de },
    };
  }

  /** The title of a built-in alert rule; null for any other name. */
  alertTitle(language: NotificationLanguage, rule: string): string | null {
    const name = `alert.title.${rule}`;
    return Object.hasOwn(english, name) ? this.say(language, name as MessageName) : null;
  }

  say(language: NotificationLanguage, name: MessageName, values: MessageValues = {}): string {
    return this.#messages[language][name].replaceAll(/\{(\w+)\}/g, (whole, key: string) =>
      Object.hasOwn(values, key) ? String(values[key]) : whole,
    );
  }
}

/** Reads the messages in a file of the host application, or returns a description of the problem. */
export function readOverrides(
  value: unknown,
): { readonly overrides: MessageOverrides } | { readonly problem: string } {
  if (!isRecord(value)) return { problem: "must be an object with a field for each language" };
  for (const [language, messages] of Object.entries(value)) {
    if (!(notificationLanguages as readonly string[]).includes(language))
      return {
        problem: `${language} is not a supported language; use ${notificationLanguages.join(" or ")}`,
      };
    if (!isRecord(messages)) return { problem: `${language} must be an object of strings, keyed by name` };
    const wrong = Object.entries(messages).find(
      ([name, text]) => !Object.hasOwn(english, name) || typeof text !== "string",
    );
    if (wrong !== undefined) return { problem: `${language}.${wrong[0]} is not a known name` };
  }
  return { overrides: value };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Formats a time in a language and time zone, such as `Wednesday, 4 March 2026 at 10:00 CET`. */
export function spokenTime(at: number, language: NotificationLanguage, timeZone: string): string {
  const locale = { en: "en-GB", de: "de-DE" }[language];
  return new Intl.DateTimeFormat(locale, {
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZone,
    timeZoneName: "short",
  }).format(at);
}

/** Formats a duration with its two largest units, such as `2 d 3 h`. */
export function spokenDuration(durationMs: number): string {
  const minutes = Math.max(1, Math.round(durationMs / 60_000));
  const [days, hours, rest] = [Math.floor(minutes / 1_440), Math.floor(minutes / 60) % 24, minutes % 60];
  const parts = [
    [days, "d"],
    [hours, "h"],
    [rest, "min"],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(" ");
}
