import type { Command } from "commander";
import { ApiClient } from "../api-client.ts";
import { collect, OptionValues } from "../client-command.ts";
import { findServer } from "../connection.ts";
import type { VerificationResult } from "../../core/signing/standard-webhooks.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import { startLocalReceiver } from "../receiver/local-receiver.ts";
import type { LocalReceiver, ReceivedDelivery, ReceiverAnswer } from "../receiver/local-receiver.ts";
import { createCheck } from "../receiver/verification.ts";
import type { Check } from "../receiver/verification.ts";
import { untilStopped } from "../stop-signal.ts";
import { cellText } from "../table.ts";
import type { Terminal } from "../terminal.ts";

export function addListenCommand(program: Command, invocation: Invocation): void {
  const command = program
    .command("listen")
    .description("a receiver on this machine: verifies and prints every delivery")
    .option("--port <port>", "port to listen on; a free one when left out")
    .option("--register <types>", "subscribe to these event types for as long as it runs", collect)
    .option("--secret <secret>", "whsec_…, whsk_… or whpk_… to verify with; may be repeated", collect)
    .option("--forward-to <url>", "pass every delivery on, and answer what comes back")
    .option("--status <status>", "answer with this status, to see retries", "204")
    .option("--url <url>", "server to register with, default POSTHORN_URL or http://127.0.0.1:8080")
    .option(
      "--key <key>",
      "API key for registering, default POSTHORN_KEY; for a server on this machine data/admin.key",
    )
    .option("--json", "print JSON, one delivery a line");
  command.action(() => listen(new OptionValues(command.opts()), invocation));
}

async function listen(options: OptionValues, invocation: Invocation): Promise<void> {
  const terminal = invocation.terminal({ json: options.flag("json") });
  const status = statusOf(options);
  const forwardTo = forwardTarget(options.text("forwardTo"));
  let check: Check = createCheck(options.list("secret") ?? []);
  const receiver = await open(options, async (delivery) => {
    const answer = forwardTo === null ? { status } : await forward(forwardTo, delivery);
    print(terminal, { delivery, answer, check });
    return answer;
  });
  const stopped = untilStopped(invocation);
  try {
    terminal.note(`listening on ${terminal.errStyle("bold", receiver.url)}`);
    const types = options.list("register");
    if (types === undefined) {
      if (options.list("secret") === undefined)
        terminal.note("signatures are not checked: give --secret, or --register EVENT");
      await stopped;
      return;
    }
    await using registration = await register({ types, url: receiver.url, options, invocation, terminal });
    check = createCheck([registration.secret]);
    await stopped;
  } finally {
    await receiver.close();
  }
}

async function open(
  options: OptionValues,
  answer: (delivery: ReceivedDelivery) => Promise<ReceiverAnswer>,
): Promise<LocalReceiver> {
  const port = options.number("port") ?? 0;
  try {
    return await startLocalReceiver({ port, answer });
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error;
    if (error.code === "ERR_SOCKET_BAD_PORT") throw new UsageError(`--port takes 0 to 65535, not ${port}`);
    if (error.code !== "EADDRINUSE") throw error;
    throw new CommandFailure(`port ${port} is taken by another program`, [
      "Use another one, or leave --port out for a free one.",
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
  const url = URL.parse(/^\d+$/.test(text) ? `http://127.0.0.1:${text}/` : text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new UsageError(`--forward-to takes a URL such as http://localhost:3000/hooks, not "${text}"`);
  }
  return url;
}

interface Registration extends AsyncDisposable {
  readonly secret: string;
}

/** A webhook for as long as the receiver runs. */
async function register(order: {
  readonly types: readonly string[];
  readonly url: string;
  readonly options: OptionValues;
  readonly invocation: Invocation;
  readonly terminal: Terminal;
}): Promise<Registration> {
  const { types, url, options, invocation, terminal } = order;
  const server = findServer({ url: options.text("url"), key: options.text("key") }, invocation.env);
  const client = new ApiClient(server);
  const webhook = await client.post("/v1/webhooks", {
    body: { url, events: types, description: "posthorn listen" },
  });
  const id = String(webhook["id"]);
  terminal.note(`registered webhook ${id} for ${types.join(", ")}; it is deleted at the end`);
  terminal.note(`now publish something: npm run posthorn -- publish ${exampleType(types)}`);
  return {
    secret: String(webhook["secret"]),
    [Symbol.asyncDispose]: async () => {
      await client.call("DELETE", { path: `/v1/webhooks/${id}` });
      terminal.note(`deleted webhook ${id}`);
    },
  };
}

function exampleType([first = "*"]: readonly string[]): string {
  if (first === "*") return "order.completed";
  return first.endsWith(".*") ? `${first.slice(0, -1)}completed` : first;
}

/** Headers that describe the old connection and would be wrong on the new one. */
const hopHeaders = new Set(["host", "connection", "content-length", "transfer-encoding", "keep-alive"]);

async function forward(target: URL, { method, headers, body }: ReceivedDelivery): Promise<ReceiverAnswer> {
  const passedOn = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && !hopHeaders.has(name),
  );
  try {
    const response = await fetch(target, {
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
  } catch {
    return { status: 502, body: `cannot reach ${target.origin}` };
  }
}

function print(
  terminal: Terminal,
  {
    delivery,
    answer,
    check,
  }: { readonly delivery: ReceivedDelivery; readonly answer: ReceiverAnswer; readonly check: Check },
): void {
  const result = check(delivery);
  const { headers, receivedAt } = delivery;
  const id = headers["webhook-id"] ?? null;
  const type = eventTypeOf(delivery);
  const verified = verdict(result);
  if (terminal.json) {
    const detail = result?.kind === "rejected" ? result.detail : null;
    terminal.object({
      time: receivedAt.toISOString(),
      id,
      type,
      verification: verified,
      detail,
      status: answer.status,
      bytes: delivery.body.length,
    });
    return;
  }
  const time = receivedAt.toISOString().slice(11, 23);
  terminal.data(
    `${time}  ${cellText(type)}  ${cellText(id)}  ${terminal.outStyle(result === null ? "dim" : styles[result.kind], verified)}  answered ${answer.status}`,
  );
  if (result?.kind === "rejected") terminal.note(`    ${result.detail}`);
}

const styles = { verified: "green", rejected: "red" } as const;

function verdict(result: VerificationResult | null): string {
  if (result === null) return "not checked";
  return result.kind === "verified" ? "verified" : result.cause;
}

function eventTypeOf({ body }: ReceivedDelivery): string | null {
  try {
    const payload: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    const type = typeof payload === "object" && payload !== null && "type" in payload ? payload.type : null;
    return typeof type === "string" ? type : null;
  } catch {
    return null;
  }
}
