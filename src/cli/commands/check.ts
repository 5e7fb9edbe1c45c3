import type { Command } from "commander";
import { findProfile, profiles } from "../../core/profiles/index.ts";
import type { Profile } from "../../core/profile.ts";
import type { Finding } from "../../doctor/finding.ts";
import { checkReceiver, receiverChecks } from "../../doctor/receiver/check-receiver.ts";
import { checkSender } from "../../doctor/sender/check-sender.ts";
import { verifierFor } from "../../doctor/sender/verifier.ts";
import { OptionValues } from "../client-command.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import { printFindings } from "../findings.ts";
import type { Invocation } from "../invocation.ts";
import { untilStopped } from "../stop-signal.ts";

export function addCheckCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("check")
    .argument("[url]", "the receiver to check; left out with --sender")
    .description(
      "is this receiver, or sender, correct? sends it what must be accepted and refused, and says what is wrong",
    )
    .option("--profile <name>", `one of ${profiles.map(({ name }) => name).join(", ")}`, "standard")
    .option("--secret <secret>", "whsec_… or whsk_… of the webhook, default POSTHORN_CHECK_SECRET")
    .option("--token <token>", "bearer token that the receiver expects, default POSTHORN_CHECK_TOKEN")
    .option("--allow-valid", "also send valid messages, which the receiver may process")
    .option("--event-type <type>", "type of the messages", "posthorn.check")
    .option("--origin <name>", "DNS name to ask permission for (CloudEvents handshake)", "posthorn.localhost")
    .option(
      "--key-id <id>",
      "keyid of a shared secret in HTTP message signatures: the webhook's id",
      "posthorn-check",
    )
    .option("--timeout-ms <ms>", "time for each answer", "15000")
    .option("--sender <port>", "listen on this port and judge what a sender does; 0 takes a free one")
    .option("--duration-seconds <seconds>", "how long to watch a sender", "60")
    .option("--json", "print JSON, one finding a line");
  command.action((url: string | undefined) => check(url, new OptionValues(command.opts()), invocation));
}

async function check(url: string | undefined, options: OptionValues, invocation: Invocation): Promise<void> {
  const sender = options.number("sender");
  if (url === undefined && sender === undefined)
    throw new UsageError("check takes the URL of a receiver, or --sender PORT");
  if (url !== undefined && sender !== undefined)
    throw new UsageError("check takes a URL or --sender, not both");
  const findings =
    url === undefined
      ? await watchSender(sender ?? 0, options, invocation)
      : await examineReceiver(url, options, invocation);
  const failures = findings.filter(({ state }) => state === "failed").length;
  if (failures > 0) throw new CommandFailure(`${failures} of ${findings.length} rules failed`);
}

async function examineReceiver(
  text: string,
  options: OptionValues,
  invocation: Invocation,
): Promise<readonly Finding[]> {
  const terminal = invocation.terminal({ json: options.flag("json") });
  const { env } = invocation;
  let done = 0;
  const found = (finding: Finding): void => {
    done += 1;
    if (terminal.json) terminal.object(finding);
    else if (terminal.isLive)
      terminal.redraw(done < receiverChecks.length ? `${done} of ${receiverChecks.length} rules` : "");
  };
  try {
    const findings = await checkReceiver({
      receiver: {
        url: urlOf(text),
        profile: profileOf(options),
        secret: options.text("secret") ?? env["POSTHORN_CHECK_SECRET"] ?? null,
        bearerToken: options.text("token") ?? env["POSTHORN_CHECK_TOKEN"] ?? null,
        eventType: options.text("eventType") ?? "posthorn.check",
        keyId: options.text("keyId") ?? "posthorn-check",
        origin: options.text("origin") ?? "posthorn.localhost",
      },
      allowValid: options.flag("allowValid"),
      timeoutMs: positive(options, { name: "timeoutMs", flag: "--timeout-ms" }),
      found,
    });
    if (!terminal.json) printFindings(terminal, findings);
    return findings;
  } catch (error) {
    // Says what is wrong with the form of the secret, never what it is.
    if (error instanceof RangeError) throw new UsageError(`--secret: ${error.message}`);
    throw error;
  }
}

async function watchSender(
  port: number,
  options: OptionValues,
  invocation: Invocation,
): Promise<readonly Finding[]> {
  const terminal = invocation.terminal({ json: options.flag("json") });
  const stop = new AbortController();
  void untilStopped(invocation).then(() => stop.abort());
  const seconds = positive(options, { name: "durationSeconds", flag: "--duration-seconds" });
  const profile = profileOf(options);
  const secret = options.text("secret") ?? invocation.env["POSTHORN_CHECK_SECRET"] ?? null;
  const findings = await checkSender({
    port,
    profile,
    verifier: verifierOf(secret, { profile, keyId: options.text("keyId") ?? "posthorn-check" }),
    durationMs: seconds * 1_000,
    listening: (url) => {
      terminal.note(`listening on ${terminal.errStyle("bold", url)} for ${seconds} s`);
      terminal.note(
        "Send two events there. The first is answered 503 with Retry-After, the second is redirected.",
      );
    },
    signal: stop.signal,
  });
  if (terminal.json) for (const finding of findings) terminal.object(finding);
  else printFindings(terminal, findings);
  return findings;
}

function verifierOf(secret: string | null, how: { readonly profile: Profile; readonly keyId: string }) {
  try {
    return secret === null ? null : verifierFor(secret, how);
  } catch (error) {
    throw new UsageError(`--secret: ${error instanceof Error ? error.message : "is not a key"}`);
  }
}

function profileOf(options: OptionValues): Profile {
  const name = options.text("profile") ?? "standard";
  const profile = findProfile(name);
  if (profile !== undefined) return profile;
  throw new UsageError(`--profile takes one of ${profiles.map((one) => one.name).join(", ")}, not "${name}"`);
}

function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && ["http:", "https:"].includes(url.protocol)) return url;
  throw new UsageError(`check takes a URL such as http://localhost:3000/hooks, not "${text}"`);
}

function positive(options: OptionValues, option: { readonly name: string; readonly flag: string }): number {
  const value = options.number(option.name) ?? Number.NaN;
  if (Number.isFinite(value) && value > 0) return value;
  throw new UsageError(`${option.flag} takes a number above 0`);
}
