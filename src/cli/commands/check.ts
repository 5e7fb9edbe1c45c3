import type { Command } from "commander";
import { type Finding, type FindingState, NothingToExamine } from "../../check/finding.ts";
import type { ReceiverUnderCheck } from "../../check/receiver/messages.ts";
import { isEventTypeName } from "../../domain/event-type.ts";
import type { Profile } from "../../domain/profile.ts";
import { findProfile, profiles } from "../../domain/profiles/index.ts";
import { OptionValues } from "../client-command.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import { cellText, columns, printTable } from "../table.ts";
import { type Terminal, untilStopped } from "../terminal.ts";

const words: Readonly<Record<FindingState, string>> = {
  passed: "passed",
  failed: "FAILED",
  skipped: "skipped",
  not_applicable: "-",
};

/** Narrow enough to be readable in logs, emails and any terminal. */
const widthMax = 80;

/** Prints the table of findings, then failures with remedies, then the totals. */
function printFindings(terminal: Terminal, findings: readonly Finding[]): void {
  printTable(
    terminal,
    columns({ RESULT: ({ state }: Finding) => words[state], RULE: "title", SEEN: "detail" }),
    findings,
  );
  const width = Math.min(terminal.outColumns ?? widthMax, widthMax);
  for (const finding of findings) {
    if (finding.state !== "failed") continue;
    terminal.data("");
    const [head = "", ...lines] = failureLines(finding, width);
    terminal.data(terminal.outStyle("red", head));
    for (const line of lines) terminal.data(line);
  }
  terminal.data("");
  terminal.data(summaryOf(findings));
  const skippedHints = new Set(findings.filter(({ state }) => state === "skipped").map(({ hint }) => hint));
  for (const hint of skippedHints) if (hint !== null) terminal.data(`To run the skipped checks: ${hint}`);
}

function failureLines(finding: Finding, width: number): readonly string[] {
  const { title, level, detail, requirements, hint } = finding;
  const lines = (text: string): readonly string[] =>
    wrap(cellText(text), width - 2).map((line) => `  ${line}`);
  const recommended = level === "should" ? " (recommended)" : "";
  return [
    `FAILED  ${title}${recommended}`,
    ...lines(`seen: ${detail}`),
    ...lines(hint ?? ""),
    ...lines(requirements),
  ];
}

function summaryOf(findings: readonly Finding[]): string {
  const count = (wanted: FindingState): number => findings.filter(({ state }) => state === wanted).length;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped, ${count("not_applicable")} not applicable`;
}

/** Wraps at spaces. Long words are put on separate lines. */
function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines;
}

/** Interval of progress lines if the output is not a terminal. */
const plainLineMs = 2_000;
const defaultKeyId = "posthorn-check";

export function addCheckCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("check")
    .argument("[url]", "receiver to check. Omit it with --sender")
    .description(
      "check a receiver or sender: sends messages that must be accepted or rejected, and reports errors",
    )
    .option("--profile <name>", `one of ${profiles.map(({ name }) => name).join(", ")}`, "standard")
    .option("--secret <secret>", "whsec_… or whsk_… of the webhook (default: POSTHORN_CHECK_SECRET)")
    .option("--token <token>", "bearer token that the receiver expects (default: POSTHORN_CHECK_TOKEN)")
    .option("--allow-valid", "also send valid messages, which the receiver may process")
    .option(
      "--scheme <name>",
      "signature scheme (default: the profile's first scheme that matches the secret)",
    )
    .option("--key-id <id>", "keyid of a shared secret in HTTP message signatures", defaultKeyId)
    .option("--event-type <type>", "event type of the messages", "posthorn.check")
    .option("--origin <name>", "DNS name for the CloudEvents handshake", "posthorn.localhost")
    .option("--prompt-ms <ms>", "maximum response time of a message", "10000")
    .option("--timeout-ms <ms>", "timeout of a request", "15000")
    .option("--sender <port>", "listen on this port and check a sender. 0 selects a free port")
    .option("--duration-seconds <seconds>", "how long to watch a sender", "60")
    .option("--json", "print JSON, one finding per line")
    .addHelpText("after", "\nAll rules: docs/check.md. The exit status is 1 if a rule failed.");
  command.action((url: string | undefined) => check(url, new OptionValues(command.opts()), invocation));
}

async function check(url: string | undefined, options: OptionValues, invocation: Invocation): Promise<void> {
  const port = options.number("sender");
  if (url === undefined && port === undefined)
    throw new UsageError("check requires the URL of a receiver, or --sender PORT");
  if (url !== undefined && port !== undefined)
    throw new UsageError("check takes a URL or --sender, not both");
  const terminal = invocation.terminal(options.flag("json"));
  const findings = await (url === undefined
    ? watchSender(port ?? 0, { options, invocation, terminal })
    : examineReceiver(url, { options, invocation, terminal })
  ).catch(explain);
  if (!terminal.json) printFindings(terminal, findings);
  const failures = findings.filter(({ state }) => state === "failed").length;
  if (failures > 0) throw new CommandFailure(`${failures} of ${findings.length} rules failed`);
}

interface Call {
  readonly options: OptionValues;
  readonly invocation: Invocation;
  readonly terminal: Terminal;
}

/** Turns user errors into readable failures. Other errors are bugs and keep their stack. */
function explain(error: unknown): never {
  if (error instanceof NothingToExamine) throw new CommandFailure(error.message, error.hints);
  // The message describes the format problem, never the secret itself.
  if (error instanceof RangeError) throw new UsageError(`--secret: ${error.message}`);
  const { code, port } = error as { readonly code?: unknown; readonly port?: unknown };
  if (code === "EADDRINUSE")
    throw new CommandFailure(`port ${String(port)} is in use by another program`, [
      "Use another port. --sender 0 selects a free one.",
    ]);
  throw error;
}

async function examineReceiver(text: string, call: Call): Promise<readonly Finding[]> {
  const { options, terminal } = call;
  const receiver = receiverOf(text, call);
  const timeoutMs = numberIn(options, "timeoutMs", "--timeout-ms", 1, 600_000);
  const isShown = terminal.isLive && !terminal.json;
  const { checkReceiver } = await import("../../check/receiver/check-receiver.ts");
  let toldAt = performance.now();
  try {
    return await checkReceiver({
      receiver,
      allowValid: options.flag("allowValid"),
      timeoutMs,
      trying: (title, done, of) => {
        if (isShown) terminal.redraw(`${done + 1} of ${of}: ${title}`);
        else if (!terminal.json && performance.now() - toldAt > plainLineMs) {
          toldAt = performance.now();
          terminal.note(`${done + 1} of ${of}: ${title}`);
        }
      },
      found: (finding) => {
        if (terminal.json) terminal.object(finding);
      },
    });
  } finally {
    if (isShown) terminal.redraw("");
  }
}

function receiverOf(text: string, { options, invocation: { env } }: Call): ReceiverUnderCheck {
  return {
    url: urlOf(text),
    profile: profileOf(options),
    secret: given(options.text("secret") ?? env["POSTHORN_CHECK_SECRET"]),
    scheme: schemeOf(options),
    bearerToken: tokenOf(options, env),
    eventType: eventTypeOf(options),
    keyId: keyIdOf(options),
    origin: originOf(options),
    promptMs: numberIn(options, "promptMs", "--prompt-ms", 1, 600_000),
  };
}

async function watchSender(port: number, call: Call): Promise<readonly Finding[]> {
  const { options, invocation, terminal } = call;
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new UsageError(`--sender takes 0 to 65535, not ${port}`);
  const stop = new AbortController();
  const seconds = numberIn(options, "durationSeconds", "--duration-seconds", 1, 86_400);
  const profile = profileOf(options);
  const { checkSender } = await import("../../check/sender/check-sender.ts");
  const { verifierFor } = await import("../../check/sender/verifier.ts");
  const secret = given(options.text("secret") ?? invocation.env["POSTHORN_CHECK_SECRET"]);
  const verifier = secret === null ? null : verifierFor(secret, profile, keyIdOf(options));
  void untilStopped(invocation).then(() => stop.abort());
  const isShown = terminal.isLive && !terminal.json;
  const findings = await checkSender({
    port,
    profile,
    verifier,
    bearerToken: tokenOf(options, invocation.env),
    durationMs: seconds * 1_000,
    listening: (url) => {
      terminal.note(`listening on ${terminal.errStyle("bold", url)} for ${seconds} s`);
      terminal.note("Send two events to it. The first gets 503 with Retry-After, the second a redirect.");
    },
    arrived: (requests, events) => {
      if (isShown) terminal.redraw(`${requests} requests for ${events} events so far`);
    },
    signal: stop.signal,
  });
  if (isShown) terminal.redraw("");
  if (terminal.json) for (const finding of findings) terminal.object(finding);
  return findings;
}

/** An empty variable is treated as unset. */
function given(text: string | undefined): string | null {
  return text === undefined || text === "" ? null : text;
}

function tokenOf(options: OptionValues, env: Invocation["env"]): string | null {
  const token = given(options.text("token") ?? env["POSTHORN_CHECK_TOKEN"]);
  if (token === null || /^[\x21-\x7e]{2,4096}$/.test(token)) return token;
  throw new UsageError("--token: a bearer token is 2 to 4,096 visible ASCII characters, without `Bearer `");
}

function keyIdOf(options: OptionValues): string {
  const keyId = options.text("keyId") ?? defaultKeyId;
  if (/^[\x20-\x7e]{1,255}$/.test(keyId)) return keyId;
  throw new UsageError("--key-id takes 1 to 255 printable ASCII characters");
}

function schemeOf(options: OptionValues): string | null {
  const scheme = options.text("scheme");
  const { name, signatureSchemesAllowed: allowed } = profileOf(options);
  if (scheme === undefined || allowed.some((one) => one === scheme)) return scheme ?? null;
  throw new UsageError(`--scheme takes ${allowed.join(", ")} with profile ${name}, not "${scheme}"`);
}

function eventTypeOf(options: OptionValues): string {
  const type = options.text("eventType") ?? "posthorn.check";
  if (isEventTypeName(type)) return type;
  throw new UsageError(`--event-type takes a name such as order.paid, not "${type}"`);
}

function originOf(options: OptionValues): string {
  const origin = options.text("origin") ?? "posthorn.localhost";
  if (/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(origin)) return origin;
  throw new UsageError(`--origin takes a DNS name such as sender.example.com, not "${origin}"`);
}

function profileOf(options: OptionValues): Profile {
  const name = options.text("profile") ?? "standard";
  const profile = findProfile(name);
  if (profile !== undefined) return profile;
  throw new UsageError(`--profile takes one of ${profiles.map((one) => one.name).join(", ")}, not "${name}"`);
}

function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new UsageError(`check takes a URL such as http://localhost:3000/hooks, not "${text}"`);
  // Node would send a user and password as an additional Authorization header.
  if (url.username !== "" || url.password !== "")
    throw new UsageError("the URL must not contain a user or password. Pass a bearer token with --token");
  url.hash = "";
  return url;
}

function numberIn(options: OptionValues, name: string, flag: string, from: number, to: number): number {
  const value = options.number(name) ?? from;
  if (value >= from && value <= to) return value;
  throw new UsageError(`${flag} takes ${from} to ${to}, not ${value}`);
}
