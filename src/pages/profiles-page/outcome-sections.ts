import type { ClassificationTable, Profile, StatusRule } from "../../core/profile.ts";
import { durationText, markdownTable } from "./markdown.ts";

/** What each response or missing response means. */
export function outcomeSections({ classification, sunset, attemptsMaxByCategory }: Profile): string {
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
  by_status: "A truncated response counts by its status.",
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
export function gateSections(profile: Profile): string {
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
    `The circuit opens at ${breaker.errorThresholdPercentage} % failures of at least ${breaker.minimumThroughput} ` +
    `attempts within ${durationText(breaker.windowSizeMs)}, for ${durationText(breaker.sleepWindowMs)}; then ` +
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
    lines.push(`${disable.suspendStatuses.join(", ")}: suspended at once${until}.`);
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
      : ` Only if the endpoint has failed for ${durationText(exhaustedMsMin)} without an accepted attempt, however short the schedule is.`;
  return `${exhaustedNotes[onExhausted]}${span}`;
}

const exhaustedNotes: Readonly<Record<Profile["disable"]["onExhausted"], string>> = {
  never: "A delivery that exhausts its schedule changes nothing about its webhook.",
  always: "A delivery that exhausts its schedule: disabled.",
  without_success: "A delivery that exhausts its schedule while no other was accepted: disabled.",
};

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}
