import type {
  ClassificationTable,
  PayloadFormatName,
  Profile,
  ProfileHeader,
  RetrySchedule,
  StatusRule,
} from "../domain/profile.ts";
import {
  exampleEvent,
  exampleKeys,
  exampleMessage,
  headerDescriptions,
} from "../domain/profiles/example-message.ts";
import { profiles } from "../domain/profiles/index.ts";

/** A Markdown table; cells must not contain line breaks. */
function markdownTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(" | ")} |`;
  return [line(titles), `|${"---|".repeat(titles.length)}`, ...rows.map(line)].join("\n");
}

export function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|");
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** Formats `90000` as `1 min 30 s`. */
function durationText(durationMs: number): string {
  const parts: string[] = [];
  let restMs = durationMs;
  for (const [unit, unitMs] of units) {
    const count = Math.floor(restMs / unitMs);
    if (count > 0) parts.push(`${count} ${unit}`);
    restMs -= count * unitMs;
  }
  if (restMs > 0) parts.push(`${restMs} ms`);
  return parts.length === 0 ? "0 s" : parts.join(" ");
}

/** Formats hours, minutes and seconds as in schedule tables: `75:35:05`. */
function clockText(durationMs: number): string {
  const seconds = Math.round(durationMs / 1_000);
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

/** Headers, signatures and payloads, with an example for each payload format. */
function messageSections(profile: Profile): string {
  const { headers, migrationHeaders, payloadFormats } = profile;
  const migration =
    migrationHeaders.length === 0
      ? "There are no migration headers."
      : `If \`migration_headers\` is set, also ${migrationHeaders.map(({ name }) => `\`${name}\``).join(", ")}.`;
  return [
    "### Headers",
    "Sent in this order. A signature header is sent if the webhook uses one of its schemes; credentials and custom headers follow.",
    markdownTable(["Header", "Value"], headers.map(headerRow)),
    migration,
    "### Signatures",
    signatureLines(profile),
    "### Payload",
    ...(profile.emptyDataRefused ? [emptyDataLine] : []),
    `The examples are signed with the secret \`${exampleKeys.secret}\` and the key pair of \`${exampleKeys.publicKey}\`.`,
    ...payloadFormats.map((format, index) => formatSection(profile, format, index === 0)),
  ].join("\n\n");
}

const emptyDataLine =
  "An event whose `data` is `{}` is not sent under this profile: it becomes a dead letter with the reason `empty_data`.";

function headerRow(header: ProfileHeader): readonly string[] {
  if ("literal" in header) return [`\`${header.name}\``, `always \`${header.literal}\``];
  return [`\`${header.name}\``, headerDescriptions[header.value].description];
}

function signatureLines({ signatureSchemes, signatureSchemesAllowed }: Profile): string {
  const list = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(", ");
  return `The default is ${list(signatureSchemes)}; a webhook may choose from ${list(signatureSchemesAllowed)}.`;
}

function formatSection(profile: Profile, format: PayloadFormatName, isDefault: boolean): string {
  const { headers, body } = exampleMessage(profile, format, exampleEvent.eventType, exampleEvent.data);
  const { pathname, host } = new URL(exampleKeys.url);
  const lines = [`POST ${pathname} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  const title = `\`${format}\`${isDefault ? ", the default" : ""}: ${formatTitles[format]}`;
  return `${title}\n\n\`\`\`http\n${[...lines, "", body].join("\n")}\n\`\`\``;
}

const formatTitles: Readonly<Record<PayloadFormatName, string>> = {
  standard: "an object with `type`, `timestamp` and `data`, and `metadata` and `links` if they were given.",
  "standard-thin":
    "the same with minimal data: only the identifiers in `data` (`id`, `uuid`, and names that end in `_id`, `_ids`, `Id` or `Ids`), or the event ID if there are none, and `links`.",
  data: "the published data without an envelope.",
  "x-webhook": "an object of eight fields.",
  "cloudevents-structured": "a CloudEvent as one JSON object.",
  "cloudevents-binary": "a CloudEvent with its attributes in headers and its data as the body.",
};

const verificationTitles: Readonly<Record<Profile["registration"]["verification"], string>> = {
  none: "None by default.",
  challenge: "The receiver must echo a challenge.",
  cloudevents: "The receiver must grant permission with the CloudEvents handshake.",
  dns: "A DNS record must prove ownership.",
};

/** Requirements for webhooks of the profile. */
function registrationSection({ registration }: Profile): string {
  const { verification, verificationRequired, bearerTokenRequired, permanentRedirectAllowed } = registration;
  const lines = [
    `Verification: ${verificationTitles[verification]} ${verificationRequired ? "It cannot be disabled." : "A webhook may choose another method."}`,
    bearerTokenRequired
      ? "A bearer token or an OAuth 2.0 client is required."
      : "A bearer token is optional.",
    permanentRedirectAllowed
      ? "A 308 changes the stored URL if owner and receiver agreed on it."
      : "A redirect never changes the stored URL.",
  ];
  return ["### Registration", lines.map((line) => `- ${line}`).join("\n")].join("\n\n");
}

/** The meaning of each response and of a missing response. */
function outcomeSections({ classification, sunset, attemptsMaxByCategory }: Profile): string {
  const notes = [incompleteNotes[classification.incompleteResponse], sunsetNotes[sunset]];
  for (const [category, attemptsMax] of Object.entries(attemptsMaxByCategory))
    notes.push(`Failures of the category \`${category}\` end a delivery after ${attemptsMax} attempts.`);
  return [
    "### Statuses",
    "An exact status takes precedence over its class, and a class over the fallback.",
    markdownTable(["Status", "Outcome", "Category", "Note"], statusRows(classification)),
    "### Without a response",
    markdownTable(
      ["Failure", "Outcome", "Category", "Note"],
      Object.entries(classification.failures).map(([name, rule]) =>
        ruleRow(failureTitles[name as keyof typeof failureTitles], rule),
      ),
    ),
    notes.map((note) => `- ${note}`).join("\n"),
  ].join("\n\n");
}

const incompleteNotes: Readonly<Record<ClassificationTable["incompleteResponse"], string>> = {
  transient: "A truncated response is transient, with unknown receiver state, regardless of its status.",
  by_status: "A truncated response is classified by its status.",
};

const sunsetNotes: Readonly<Record<Profile["sunset"], string>> = {
  terminal: "After the time in a `Sunset` header the next failure ends the delivery.",
  ignored: "A `Sunset` header is ignored.",
};

const failureTitles: Readonly<Record<keyof ClassificationTable["failures"], string>> = {
  timeout: "no complete response in time",
  network: "refused, reset, or closed without a response",
  dns: "the name does not resolve",
  ssl: "TLS handshake or certificate",
  protocol: "the response is not HTTP",
};

function statusRows({ statuses, classes, fallback }: ClassificationTable): readonly (readonly string[])[] {
  return [
    ...Object.entries(statuses).map(([status, rule]) => ruleRow(status, rule)),
    ...Object.entries(classes).map(([digit, rule]) => ruleRow(`other ${digit}xx`, rule)),
    ruleRow("everything else, including 1xx", fallback),
  ];
}

function ruleRow(title: string, rule: StatusRule): readonly string[] {
  const { outcome, category, attention, receiverStateUnknown, reason } = rule;
  const notes = [
    ...(attention === undefined ? [] : [attentionNotes[attention]]),
    ...(receiverStateUnknown === true ? ["receiver state unknown"] : []),
    ...(reason === undefined ? [] : [`reason \`${reason}\``]),
  ];
  return [title, outcome, category === undefined ? "" : `\`${category}\``, notes.join("; ")];
}

const attentionNotes: Readonly<Record<NonNullable<StatusRule["attention"]>, string>> = {
  warn: "logged for investigation",
  notify: "webhooks that subscribe to `posthorn.*` are notified",
  escalate: "the operator is notified",
};

/** When failures pause, suspend or disable the whole endpoint. */
function gateSections(profile: Profile): string {
  return [
    "### Gates",
    bullets([...pauseLines(profile), breakerLine(profile), rateLine(profile)]),
    "### When a webhook is disabled",
    bullets(disableLines(profile)),
  ].join("\n\n");
}

function pauseLines({ pauses }: Profile): readonly string[] {
  const lines: string[] = [];
  if (pauses.retryAfterStatuses.length > 0)
    lines.push(
      `\`Retry-After\` with ${pauses.retryAfterStatuses.join(", ")} pauses all deliveries of the webhook, for up to the maximum age of an event and up to five days; with other statuses it delays only its own delivery.`,
    );
  else lines.push("`Retry-After` delays only its own delivery.");
  for (const [category, pauseMs] of Object.entries(pauses.categoriesMs))
    lines.push(
      `A failure of the category \`${category}\` pauses the webhook for at least ${durationText(pauseMs)}.`,
    );
  if (pauses.unansweredMs > 0)
    lines.push(
      `A connection that ended without a response pauses the webhook for at least ${durationText(pauses.unansweredMs)}.`,
    );
  for (const [status, throttleMs] of Object.entries(pauses.throttleStatusesMs))
    lines.push(`After a ${status} the webhook is throttled for ${durationText(throttleMs)}.`);
  return lines;
}

function breakerLine({ circuitBreaker: breaker, circuitBreakerIgnoresStatuses: ignored }: Profile): string {
  if (!breaker.enabled) return "The circuit breaker is off.";
  const opens =
    `The circuit opens if ${breaker.errorThresholdPercentage}% of at least ${breaker.minimumThroughput} ` +
    `attempts within ${durationText(breaker.windowSizeMs)} fail. It stays open for ${durationText(breaker.sleepWindowMs)}; then ` +
    `${breaker.halfOpenMaxCalls} probes decide.`;
  return ignored.length === 0 ? opens : `${opens} It does not count ${ignored.join(", ")}.`;
}

function rateLine({ rateLimit }: Profile): string {
  if (rateLimit === null) return "No rate limit unless one is set or granted.";
  return `${rateLimit.requestsPerMinute} requests per minute with a burst of ${rateLimit.burst}, unless another limit is set.`;
}

function disableLines({ disable }: Profile): readonly string[] {
  const lines: string[] = [];
  if (disable.suspendStatuses.length > 0) {
    const until = `, and disabled after ${durationText(disable.suspendedToDisabledMs)} unless it is enabled before`;
    lines.push(`${disable.suspendStatuses.join(", ")}: suspended immediately${until}.`);
  }
  if (disable.persistentStatuses.length > 0)
    lines.push(
      `Only ${disable.persistentStatuses.join(", ")} for ${durationText(disable.persistentMs)}: disabled.`,
    );
  if (disable.consecutiveTerminalMax > 0)
    lines.push(`${disable.consecutiveTerminalMax} terminal outcomes in a row: suspended.`);
  lines.push(exhaustedLine(disable));
  return lines;
}

function exhaustedLine({ onExhausted, exhaustedMsMin }: Profile["disable"]): string {
  const span =
    exhaustedMsMin === 0
      ? ""
      : ` This applies only if the endpoint has failed for ${durationText(exhaustedMsMin)} without an accepted attempt, regardless of how short the schedule is.`;
  return `${exhaustedNotes[onExhausted]}${span}`;
}

const exhaustedNotes: Readonly<Record<Profile["disable"]["onExhausted"], string>> = {
  never: "A delivery that exhausts its schedule does not affect its webhook.",
  always: "A delivery that exhausts its schedule: disabled.",
  without_success: "A delivery that exhausts its schedule while no other was accepted: disabled.",
};

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

/** When requests are sent, and their timeouts. */
function scheduleSection(profile: Profile): string {
  const { schedule } = profile;
  const delaysMs = nominalDelaysMs(schedule);
  const shownMs = delaysMs.slice(0, rowsMax);
  let elapsedMs = 0;
  const rows = shownMs.map((delayMs, index) => {
    elapsedMs += delayMs;
    return [String(index + 2), durationText(delayMs), clockText(elapsedMs)];
  });
  const table = markdownTable(
    ["Attempt", "Delay", "Since the first attempt"],
    [["1", "immediately", "00:00:00"], ...rows],
  );
  const more =
    delaysMs.length > shownMs.length
      ? [
          `Further attempts follow every ${durationText(delaysMs.at(-1) ?? 0)}, up to ${delaysMs.length + 1} in total.`,
        ]
      : [];
  return ["### Schedule", table, ...more, boundLines(profile)].join("\n\n");
}

/** Enough rows to show when a schedule reaches its largest delay. */
const rowsMax = 12;

/** Delays without jitter and minimum delays. */
function nominalDelaysMs(schedule: RetrySchedule): readonly number[] {
  if (schedule.kind === "list") return schedule.delaysMs;
  const { attemptsMax, baseDelayMs, multiplier, delayMsMax } = schedule;
  return Array.from({ length: attemptsMax - 1 }, (_, index) =>
    Math.min(baseDelayMs * multiplier ** index, delayMsMax),
  );
}

function boundLines(profile: Profile): string {
  const { jitter } = profile.schedule;
  const lines = [
    `Each delay is multiplied by a random number from ${jitter.from} to ${jitter.to}.`,
    ...Object.entries(profile.retryDelayFloorsMs).map(
      ([category, delayMs]) =>
        `After a failure of the category \`${category}\` the delay is at least ${durationText(delayMs)}.`,
    ),
    `A delivery older than ${durationText(profile.ageMsMax)} is dead-lettered as \`expired\`.`,
    timeoutLine(profile),
  ];
  return lines.map((line) => `- ${line}`).join("\n");
}

function timeoutLine({ timeoutMs, timeoutGrowthFactor }: Profile): string {
  const each = `A request may take ${durationText(timeoutMs)}, including the connection`;
  if (timeoutGrowthFactor === 1) return `${each}.`;
  return `${each}; each further attempt may take ${timeoutGrowthFactor} times as long, up to three times the first.`;
}

/**
 * The content of docs/profiles.md: the delivery semantics of every profile, generated from the data that the engine
 * uses (EDS-9.2-2).
 */
export function profilesPage(): string {
  return `${[pageHead, ...profiles.map(profileSection)].join("\n\n")}\n`;
}

const pageHead = `<!-- Generated by \`posthorn config --profiles\`; a test keeps it in step. -->

# Delivery profiles

A profile defines what each response of a receiver means, when a delivery is retried, and the format of messages. A webhook sets its \`profile\`; the default is \`${profiles[0]?.name ?? ""}\`. \`GET /v1/profiles/{name}\` returns the same content as JSON, to owners and receivers.

There are three outcomes. \`accepted\` ends a delivery successfully, \`terminal\` dead-letters it, and after \`transient\` the schedule decides. "Receiver state unknown" means that the request may have been processed without a confirmation; the receiver then detects the retry by its idempotency key.

${profiles.map(({ name, title, description }) => `- [${title}](#${name}): ${description}`).join("\n")}`;

function profileSection(profile: Profile): string {
  return [
    `## ${profile.name}`,
    profile.description,
    outcomeSections(profile),
    scheduleSection(profile),
    gateSections(profile),
    messageSections(profile),
    registrationSection(profile),
  ].join("\n\n");
}
