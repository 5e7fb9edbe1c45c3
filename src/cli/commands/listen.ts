import type { Command } from "commander";
import { findProfile, profiles } from "../../core/profiles/index.ts";
import { standard } from "../../core/profiles/standard.ts";
import type { Profile } from "../../core/profile.ts";
import { codeOf, messageOf } from "../../core/thrown.ts";
import { ApiClient } from "../api-client.ts";
import { collect, givenServer, OptionValues } from "../client-command.ts";
import { findServer } from "../connection.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import { printArrival, type PrintedParts } from "../receiver/delivery-line.ts";
import { ListenSecrets } from "../receiver/listen-secrets.ts";
import { replayLast } from "../receiver/replay-last.ts";
import { startLocalReceiver } from "../receiver/local-receiver.ts";
import type { LocalReceiver, ReceivedDelivery, ReceiverAnswer } from "../receiver/local-receiver.ts";
import { permissionFor } from "../receiver/permission.ts";
import { register } from "../receiver/registration.ts";
import { listenToSource } from "../receiver/listen-source.ts";
import { createCheck } from "../receiver/verification.ts";
import type { Check } from "../receiver/verification.ts";
import { untilStopped } from "../stop-signal.ts";
import type { Terminal } from "../terminal.ts";

const profileNames = profiles.map(({ name }) => name).join(", ");

export function addListenCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("listen")
    .description("run a local receiver that verifies and prints every delivery")
    .option("--port <port>", "port to listen on (default: a free port)")
    .option("--source <name>", "forward new requests of this gateway source, given by name, party or id")
    .option("--register <types>", "subscribe to these event types while running", collect)
    .option(
      "--profile <name>",
      `${profileNames}. Used to subscribe (default: standard). With --secret, limits the accepted schemes`,
    )
    .option("--secret <secret>", "whsec_…, whsk_… or whpk_… to verify with, repeatable", collect)
    .option("--key-id <id>", "webhook id, for its secret in HTTP message signatures (rfc9421-hmac-sha256)")
    .option("--forward-to <url>", "forward every request and return the response")
    .option("--status <status>", "respond with this status, to test retries", "204")
    .option("--print <parts>", "print headers, payload, or both (comma-separated), or json", collect)
    .option("--replay <count>", "with --register: replay the last events of these types, up to 100")
    .option("--url <url>", "server URL (default: POSTHORN_URL or http://127.0.0.1:8080)")
    .option("--key <key>", "API key (default: POSTHORN_KEY, or data/admin.key for a local server)")
    .option("--json", "print JSON, one delivery per line")
    .addHelpText("after", "\nVerification requests of senders are always granted.");
  command.action(() => listen(command, invocation));
}

async function listen(command: Command, invocation: Invocation): Promise<void> {
  const options = new OptionValues(command.opts());
  const { parts, json } = printedParts(options);
  const terminal = invocation.terminal({ json });
  if (options.given("source")) return followed(command, options, invocation, terminal, parts);
  const answer = answererOf(options, parts);
  const profile = profileOf(options);
  const secrets = options.list("secret") ?? [];
  // Without --key-id such signatures fail, and the printed line explains the option.
  let check: Check = await createCheck({ secrets, profile, keyId: options.text("keyId") ?? "--key-id" });
  const receiver = await open(options, (delivery) => answer(delivery, { terminal, check }));
  const stopped = untilStopped(invocation);
  try {
    terminal.note(`listening on ${terminal.errStyle("bold", receiver.url)}`);
    const types = options.list("register");
    if (types === undefined) {
      if (secrets.length === 0)
        terminal.note("signatures are not checked. Use --secret, or --register EVENT");
      await stopped;
      return;
    }
    const server = findServer(givenServer(command, options), invocation.env);
    const client = new ApiClient(server);
    await using registration = await register({
      types,
      url: receiver.url,
      profile: profile ?? standard,
      client,
      terminal,
      secrets: new ListenSecrets(invocation.env, server.url, options.number("port") ?? 0),
    });
    check = await createCheck(await registration.keys());
    await replayLast({
      types,
      client,
      terminal,
      webhookId: registration.id,
      count: options.number("replay") ?? 0,
    });
    await stopped;
  } finally {
    await receiver.close();
  }
}

/** Polls the server instead of opening a port, so that the server does not need to reach this machine. */
async function followed(
  command: Command,
  options: OptionValues,
  invocation: Invocation,
  terminal: Terminal,
  parts: PrintedParts,
): Promise<void> {
  for (const name of ["register", "replay", "port", "profile"])
    if (options.given(name)) throw new UsageError(`--source cannot be combined with --${name}`);
  const target = forwardTarget(options.text("forwardTo"));
  await listenToSource({
    name: options.text("source") ?? "",
    client: new ApiClient(findServer(givenServer(command, options), invocation.env)),
    terminal,
    parts,
    secrets: options.list("secret") ?? [],
    stopped: untilStopped(invocation),
    forward: target === null ? null : (delivery) => forward(target, delivery),
  });
}

function profileOf(options: OptionValues): Profile | null {
  const name = options.text("profile");
  if (name === undefined) return null;
  const profile = findProfile(name);
  if (profile === undefined) throw new UsageError(`--profile takes one of ${profileNames}, not "${name}"`);
  return profile;
}

/** Responds to a request and prints it. */
type Answerer = (
  delivery: ReceivedDelivery,
  shown: { readonly terminal: Terminal; readonly check: Check },
) => Promise<ReceiverAnswer>;

function printedParts(options: OptionValues): { readonly parts: PrintedParts; readonly json: boolean } {
  const given = options.list("print") ?? [];
  for (const part of given)
    if (!["headers", "payload", "json"].includes(part))
      throw new UsageError(`--print takes headers, payload or json, not "${part}"`);
  // `--print json` includes everything, while --json alone prints the short line.
  const all = given.includes("json");
  return {
    json: all || options.flag("json"),
    parts: { headers: all || given.includes("headers"), payload: all || given.includes("payload") },
  };
}

function answererOf(options: OptionValues, parts: PrintedParts): Answerer {
  const status = statusOf(options);
  const forwardTo = forwardTarget(options.text("forwardTo"));
  return async (delivery, { terminal, check }) => {
    // The forward target answers verification requests itself.
    const permission = forwardTo === null ? await permissionFor(delivery) : null;
    const answer =
      permission?.answer ?? (forwardTo === null ? { status } : await forward(forwardTo, delivery));
    const isDelivery = permission === null && delivery.method === "POST";
    const verification = isDelivery ? await check(delivery) : null;
    printArrival(terminal, { delivery, answer, verification, question: permission?.question ?? null, parts });
    return answer;
  };
}

async function open(
  options: OptionValues,
  answer: (delivery: ReceivedDelivery) => Promise<ReceiverAnswer>,
): Promise<LocalReceiver> {
  const port = options.number("port") ?? 0;
  try {
    return await startLocalReceiver({ port, answer });
  } catch (error) {
    const code = codeOf(error);
    if (code === "ERR_SOCKET_BAD_PORT") throw new UsageError(`--port takes 0 to 65535, not ${port}`);
    if (code !== "EADDRINUSE") throw error;
    throw new CommandFailure(`port ${port} is in use by another program`, [
      "Use another port, or omit --port for a free one.",
    ]);
  }
}

function statusOf(options: OptionValues): number {
  const status = options.number("status") ?? 204;
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new UsageError(`--status takes 200 to 599, not ${status}`);
  return status;
}

function forwardTarget(text: string | undefined): URL | null {
  if (text === undefined) return null;
  const url = URL.parse(/^\d+$/.test(text) ? `http://localhost:${text}/` : text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new UsageError(`--forward-to takes a URL such as http://localhost:3000/hooks, not "${text}"`);
  }
  return url;
}

/** Hop-by-hop headers, which must not be forwarded. */
const hopHeaders = [
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "te",
  "trailer",
  "upgrade",
  "proxy-connection",
  "proxy-authorization",
];

async function forward(target: URL, { method, headers, body }: ReceivedDelivery): Promise<ReceiverAnswer> {
  // Headers named in `Connection` are hop-by-hop too (RFC 9110, 7.6.1).
  const named = (headers["connection"] ?? "").split(",");
  const perHop = new Set([...hopHeaders, ...named.map((name) => name.trim().toLowerCase())]);
  const passedOn = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && !perHop.has(name),
  );
  try {
    const response = await fetchLocal(target, {
      method,
      headers: passedOn as [string, string][],
      ...(body.length > 0 && { body: Buffer.from(body) }),
      redirect: "manual",
    });
    const retryAfter = response.headers.get("retry-after");
    return {
      status: response.status,
      headers: retryAfter === null ? {} : { "retry-after": retryAfter },
      body: new Uint8Array(await response.arrayBuffer()),
    };
  } catch (error) {
    const failure = `cannot reach ${target.origin}: ${causeOf(error)}`;
    return { status: 502, body: failure, failure };
  }
}

/** Retries localhost with IPv6: some programs listen only there, while the hosts file may list only IPv4. */
async function fetchLocal(target: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(target, init);
  } catch (error) {
    if (target.hostname !== "localhost" || !isRefused(error)) throw error;
    const other = new URL(target);
    other.hostname = "[::1]";
    const answered = await fetch(other, init).catch(() => null);
    if (answered === null) throw error;
    return answered;
  }
}

function isRefused(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return codeOf(cause) === "ECONNREFUSED";
}

/** Real cause of a "fetch failed" error. For several addresses, all causes. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const seen = cause instanceof AggregateError ? cause.errors : [cause];
  return seen.map((one) => messageOf(one) || (codeOf(one) ?? "unknown")).join(", ");
}
