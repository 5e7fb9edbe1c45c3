import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import type { Profile, SignatureSchemeName } from "../../domain/profile.ts";
import { findProfile, profiles } from "../../domain/profiles/index.ts";
import { standard } from "../../domain/profiles/standard.ts";
import { needsKey } from "../../domain/signing/schemes.ts";
import { codeOf, messageOf } from "../../domain/thrown.ts";
import { ApiClient, type Json } from "../api-client.ts";
import { collect, givenServer, OptionValues } from "../client-command.ts";
import { findServer } from "../connection.ts";
import { CommandFailure, RefusedError, UsageError } from "../failures.ts";
import { type Invocation, programCommand } from "../invocation.ts";
import { type PrintedParts, listenToSource, printArrival } from "../receiver/listen-source.ts";
import {
  type LocalReceiver,
  type ReceivedDelivery,
  type ReceiverAnswer,
  startLocalReceiver,
} from "../receiver/local-receiver.ts";
import {
  type Check,
  type CheckKeys,
  createCheck,
  ListenSecrets,
  permissionFor,
} from "../receiver/verification.ts";
import { type Terminal, untilStopped } from "../terminal.ts";

/** A webhook that exists while the receiver runs. */
interface Registration extends AsyncDisposable {
  /** Webhook id. */
  readonly id: string;
  /** Keys that verify its messages. */
  keys(): Promise<CheckKeys>;
}

/** Subscribes the URL. Disposing deletes the webhook again. */
async function register(order: {
  readonly types: readonly string[];
  readonly url: string;
  readonly profile: Profile;
  readonly client: ApiClient;
  readonly terminal: Terminal;
  readonly secrets: ListenSecrets;
}): Promise<Registration> {
  const { types, url, profile, client, terminal, secrets } = order;
  const body = {
    url,
    events: types,
    description: "posthorn listen",
    profile: profile.name,
    ...tokenFor(profile),
  };
  const webhook = await createWithSecret(client, terminal, body, secrets);
  const id = String(webhook["id"]);
  const path = `/v1/webhooks/${id}`;
  terminal.note(`registered webhook ${id} for ${types.join(", ")}. It is deleted on exit`);
  if (webhook["status"] === "unverified")
    terminal.note(`nothing is sent yet: ${String((webhook["verification"] as Json)["detail"])}`);
  if (typeof webhook["secret"] === "string")
    terminal.note(
      `${secretVariable}=${webhook["secret"]}${secrets.isKept ? "" : "  (changes on the next run)"}`,
    );
  terminal.note(`publish an event: ${programCommand} publish ${exampleType(types)}${client.urlFlag}`);
  return {
    id,
    keys: async () => ({ secrets: await secretsOf(webhook, client, path), profile, keyId: id }),
    [Symbol.asyncDispose]: async () => {
      await client.call("DELETE", { path });
      terminal.note(`deleted webhook ${id}`);
    },
  };
}

/** The environment variable from which applications read the secret. */
const secretVariable = "POSTHORN_WEBHOOK_SECRET";

/** Reuses the secret of the last run, so that the application does not need a new one. */
async function createWithSecret(
  client: ApiClient,
  terminal: Terminal,
  body: Json,
  secrets: ListenSecrets,
): Promise<Json> {
  const secret = secrets.last();
  try {
    const made = await client.post("/v1/webhooks", { body: { ...body, ...(secret !== null && { secret }) } });
    if (secret === null) secrets.keep(made["secret"]);
    return made;
  } catch (error) {
    if (!(error instanceof RefusedError) || error.code !== "secret_in_use") throw error;
    // Another listener is running, or one was killed before deleting its webhook.
    terminal.note("another webhook uses the secret of the last run, so this one gets a new secret.");
    terminal.note("To find a leftover webhook: posthorn webhooks list --search 'posthorn listen'");
    secrets.leave();
    return client.post("/v1/webhooks", { body });
  }
}

/** A random bearer token for profiles that require one. */
function tokenFor({ registration }: Profile): { readonly bearer_token?: string } {
  return registration.bearerTokenRequired ? { bearer_token: randomBytes(24).toString("base64url") } : {};
}

/** The shared secret, if there is one, and the tenant's public key if a scheme uses it. */
async function secretsOf(webhook: Json, client: ApiClient, path: string): Promise<readonly string[]> {
  const { schemes } = webhook["signing"] as { readonly schemes: readonly SignatureSchemeName[] };
  const secret = webhook["secret"];
  const shared = typeof secret === "string" ? [secret] : [];
  if (!needsKey(schemes, "ed25519")) return shared;
  const { public_key: publicKey } = await client.get(`${path}/public-key`);
  return [...shared, String(publicKey)];
}

function exampleType([first = "*"]: readonly string[]): string {
  if (first === "*") return "order.completed";
  return first.endsWith(".*") ? `${first.slice(0, -1)}completed` : first;
}

const countMax = 100;

/** Replays the most recent events of the given types to one webhook, oldest first. */
async function replayLast(
  client: ApiClient,
  terminal: Terminal,
  types: readonly string[],
  webhookId: string,
  count: number,
): Promise<void> {
  if (count === 0) return;
  if (!Number.isInteger(count) || count < 0 || count > countMax)
    throw new UsageError(`--replay takes 0 to ${countMax}, not ${count}`);
  const query = { limit: count, ...(types.includes("*") ? {} : { event_type: types }) };
  const events = (await client.get("/v1/events", { query }))["data"] as readonly Json[];
  for (const { id } of events.toReversed())
    await client.post(`/v1/events/${String(id)}/replay`, { body: { webhook_ids: [webhookId] } });
  terminal.note(events.length === 0 ? "no events to replay" : `replaying the last ${events.length} events`);
}

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
    .addHelpText("after", "\nVerification requests from senders are always granted.");
  command.action(() => listen(command, invocation));
}

async function listen(command: Command, invocation: Invocation): Promise<void> {
  const options = new OptionValues(command.opts());
  const { parts, json } = printedParts(options);
  const terminal = invocation.terminal(json);
  if (options.given("source")) return followed(command, options, invocation, terminal, parts);
  const answer = answererOf(options, parts);
  const profile = profileOf(options);
  const secrets = options.list("secret") ?? [];
  // Without `--key-id`, HTTP message signatures with a shared secret fail, and the printed line explains the option.
  let check: Check = await createCheck({ secrets, profile, keyId: options.text("keyId") ?? "--key-id" });
  const receiver = await open(options, (delivery) => answer(delivery, terminal, check));
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
    const client = new ApiClient(server.url, server.key);
    await using registration = await register({
      types,
      url: receiver.url,
      profile: profile ?? standard,
      client,
      terminal,
      secrets: new ListenSecrets(invocation.env, server.url, options.number("port") ?? 0),
    });
    check = await createCheck(await registration.keys());
    await replayLast(client, terminal, types, registration.id, options.number("replay") ?? 0);
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
  const server = findServer(givenServer(command, options), invocation.env);
  await listenToSource({
    name: options.text("source") ?? "",
    client: new ApiClient(server.url, server.key),
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
type Answerer = (delivery: ReceivedDelivery, terminal: Terminal, check: Check) => Promise<ReceiverAnswer>;

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
  return async (delivery, terminal, check) => {
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
    return await startLocalReceiver(port, answer);
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

/** Retries localhost with IPv6, because some programs listen only on IPv6 while the hosts file may list only IPv4. */
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

/** Returns the actual cause of a "fetch failed" error, or all causes if several addresses were tried. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const seen = cause instanceof AggregateError ? cause.errors : [cause];
  return seen.map((one) => messageOf(one) || (codeOf(one) ?? "unknown")).join(", ");
}
