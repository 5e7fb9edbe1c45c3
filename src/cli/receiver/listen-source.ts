import { isUtf8 } from "node:buffer";
import { setTimeout as sleep } from "node:timers/promises";
import { mask } from "../../domain/http/request-headers.ts";
import { tryParseJson } from "../../domain/json/json-text.ts";
import { parseSecret } from "../../domain/signing/signing-key.ts";
import { prepareSigner, type Signer } from "../../domain/signing/standard-webhooks.ts";
import type { Verification } from "../../receiver/message/message.ts";
import type { ApiClient, Json } from "../api-client.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import { cellText } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import type { ReceivedDelivery, ReceiverAnswer } from "./local-receiver.ts";
import type { Permission } from "./verification.ts";

/** A gateway request, as forwarded to this machine. */
interface FollowedRequest {
  readonly delivery: ReceivedDelivery;
  /** The scheme with which the gateway verified the request. */
  readonly scheme: string;
  readonly id: string;
  readonly type: string | null;
}

const everyMs = 1_000;
const pageRows = 100;
/** Maximum number of pages per poll. Additional requests are reported as missed. */
const pagesMax = 10;

/** Outcomes of authentic requests, whether or not a connection forwarded them. */
const wantedOutcomes = new Set(["accepted", "ignored", "failed"]);

async function findSource(client: ApiClient, name: string): Promise<Json> {
  const sources: Json[] = [];
  for (let cursor: unknown; cursor !== null; ) {
    const query = { limit: pageRows, ...(typeof cursor === "string" && { cursor }) };
    const page = await client.get("/v1/sources", { query });
    sources.push(...(page["data"] as readonly Json[]));
    cursor = page["next_cursor"];
  }
  const wanted = name.toLowerCase();
  const found = sources.filter((source) =>
    ["id", "party", "name"].some((field) => String(source[field]).toLowerCase() === wanted),
  );
  const [source, ...others] = found;
  if (source !== undefined && others.length === 0) return source;
  const names = sources.map((one) => String(one["name"])).join(", ");
  throw new CommandFailure(
    source === undefined ? `source ${name} does not exist` : `several sources match ${name}`,
    source === undefined
      ? [
          names === ""
            ? "Add one at /ui/sources/new or with POST /v1/sources."
            : `Available sources: ${names}`,
        ]
      : [`Use one of these ids: ${found.map((one) => String(one["id"])).join(", ")}`],
  );
}

/**
 * Polls the request log once per second, so that the server does not have to reach this machine. New requests are
 * passed to `receive`, oldest first; rejected ones are passed to `reject`.
 */
export async function followSource(order: {
  readonly client: ApiClient;
  readonly sourceId: string;
  readonly signal: AbortSignal;
  /** Called when polling has started. From then on, no request is missed. */
  readonly begun: () => void;
  readonly receive: (request: FollowedRequest) => Promise<void>;
  readonly reject: (row: Json) => void;
  readonly missed: () => void;
}): Promise<void> {
  const { client, sourceId, signal } = order;
  const before = await newest(client, sourceId, pageRows);
  const seen = new Set(before.map(idOf));
  // Requests that are older than the first page are not new.
  const floor = before.length < pageRows ? "" : idOf(before.at(-1) ?? {});
  order.begun();
  while (!(await isAborted(signal))) {
    const { rows, isComplete } = await unseen(client, sourceId, seen, floor);
    if (!isComplete) order.missed();
    for (const row of rows.toReversed()) {
      seen.add(idOf(row));
      if (row["outcome"] === "rejected") order.reject(row);
      if (!wantedOutcomes.has(String(row["outcome"]))) continue;
      await order.receive(await requestOf(client, row));
    }
  }
}

async function unseen(
  client: ApiClient,
  sourceId: string,
  seen: ReadonlySet<string>,
  floor: string,
): Promise<{ readonly rows: readonly Json[]; readonly isComplete: boolean }> {
  const rows: Json[] = [];
  let cursor: unknown;
  for (let page = 0; page < pagesMax; page++) {
    const query = { source_id: sourceId, limit: pageRows, ...(typeof cursor === "string" && { cursor }) };
    const answer = await client.get("/v1/requests", { query });
    const data = answer["data"] as readonly Json[];
    const fresh = data.filter((row) => !seen.has(idOf(row)) && idOf(row) > floor);
    rows.push(...fresh);
    cursor = answer["next_cursor"];
    if (fresh.length < data.length || cursor === null) return { rows, isComplete: true };
  }
  return { rows, isComplete: false };
}

async function newest(client: ApiClient, sourceId: string, limit: number) {
  const query = { source_id: sourceId, limit };
  return (await client.get("/v1/requests", { query }))["data"] as readonly Json[];
}

async function requestOf(client: ApiClient, row: Json): Promise<FollowedRequest> {
  const request = await client.get(`/v1/requests/${idOf(row)}`);
  const headers = (request["headers"] as readonly { readonly name: string; readonly value: string }[])
    // Masked credentials are dropped, because the mask is not a valid value.
    .filter(({ value }) => value !== mask)
    .map(({ name, value }) => [name.toLowerCase(), value] as const);
  return {
    id: String(request["event_id"] ?? request["id"]),
    scheme: String(request["scheme"]),
    type: (request["original_type"] ?? request["event_type"]) as string | null,
    delivery: {
      method: String(request["method"]),
      path: String(request["path"]),
      headers: Object.fromEntries(headers),
      body: bodyOf(request),
      receivedAt: new Date(String(request["received_at"])),
    },
  };
}

function bodyOf({ body, body_base64: encoded }: Json): Uint8Array {
  if (typeof encoded === "string") return Buffer.from(encoded, "base64");
  return Buffer.from(typeof body === "string" ? body : "", "utf8");
}

function idOf(row: Json): string {
  return String(row["id"]);
}

async function isAborted(signal: AbortSignal): Promise<boolean> {
  await sleep(everyMs, undefined, { signal }).catch(() => {});
  return signal.aborted;
}

/** Forwards requests of a gateway source to this machine. */
export async function listenToSource(order: {
  readonly name: string;
  readonly client: ApiClient;
  readonly terminal: Terminal;
  readonly parts: PrintedParts;
  /** Signs forwarded requests with these secrets, as a webhook would. */
  readonly secrets: readonly string[];
  readonly stopped: Promise<unknown>;
  /** If null, requests are only printed. */
  readonly forward: ((delivery: ReceivedDelivery) => Promise<ReceiverAnswer>) | null;
}): Promise<void> {
  const { name, client, terminal, parts, secrets, stopped, forward } = order;
  const sign = secrets.length === 0 ? null : signerOf(secrets);
  const source = await findSource(client, name);
  const stop = new AbortController();
  void stopped.then(() => stop.abort());
  await followSource({
    client,
    sourceId: String(source["id"]),
    signal: stop.signal,
    begun: () => {
      terminal.note(`listening to source ${String(source["name"])}. Stop with Ctrl C`);
      if (forward === null) terminal.note("requests are not forwarded. Use --forward-to 3000");
      else if (sign === null)
        terminal.note("forwarded requests are unsigned. Use --secret whsec_… to sign them");
    },
    missed: () => terminal.note("too many requests, some are not shown"),
    reject: ({ rejection_cause: cause, detail }) =>
      terminal.note(`rejected, ${String(cause)}${typeof detail === "string" ? `: ${detail}` : ""}`),
    receive: async (request) => {
      const delivery = sign === null ? request.delivery : signed(request, sign);
      const answer = forward === null ? { status: 204 } : await forward(delivery);
      const { scheme, id, type } = request;
      const verified = { kind: "verified", scheme, producer: name, messageId: id } as const;
      printArrival(terminal, {
        delivery,
        answer,
        verification: { ...verified, timestampSeconds: null },
        question: null,
        parts,
        known: { id, type },
      });
    },
  });
}

function signerOf(secrets: readonly string[]): Signer {
  const keys = secrets.map((text) => {
    const key = parseSecret(text);
    if (key.kind === "invalid") throw new UsageError(`--secret cannot sign: ${key.detail}`);
    return key;
  });
  return prepareSigner(keys);
}

/** Signs the request in the same way as the profile `standard`. */
function signed({ id, delivery }: FollowedRequest, sign: Signer): ReceivedDelivery {
  const timestampSeconds = Math.floor(Date.now() / 1_000);
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": sign({ messageId: id, timestampSeconds, body: delivery.body }),
  };
  return { ...delivery, headers: { ...delivery.headers, ...headers } };
}

/** A request to `posthorn listen` in the form in which it is printed. */
export interface Arrival {
  readonly delivery: ReceivedDelivery;
  readonly answer: ReceiverAnswer;
  /** Null without a key, or if the request has nothing to verify. */
  readonly verification: Verification | null;
  /** The kind of verification request that precedes the first delivery. Null for a delivery. */
  readonly question: Permission["question"] | null;
  readonly parts: PrintedParts;
  /** Id and event type, if they are already known. */
  readonly known?: { readonly id: string; readonly type: string | null };
}

/** Which parts are printed below the line. */
export interface PrintedParts {
  readonly headers: boolean;
  readonly payload: boolean;
}

export function printArrival(terminal: Terminal, arrival: Arrival): void {
  const { delivery, answer, verification, parts } = arrival;
  const { headers, receivedAt, method, path } = delivery;
  const named = headers["webhook-id"] ?? headers["ce-id"] ?? unquoted(headers["idempotency-key"]);
  const { id, type } = arrival.known ?? { id: named, type: eventTypeOf(delivery) };
  if (terminal.json) {
    terminal.object({
      time: receivedAt.toISOString(),
      method,
      path,
      id,
      type,
      verification: verdict(arrival),
      scheme: verification?.kind === "verified" ? verification.scheme : null,
      detail: verification?.kind === "rejected" ? verification.detail : null,
      status: answer.status,
      ...(answer.failure !== undefined && { failure: answer.failure }),
      bytes: delivery.body.length,
      ...(parts.headers && { headers }),
      ...(parts.payload && payloadJson(delivery.body)),
    });
    return;
  }
  const style = verification === null ? "dim" : styles[verification.kind];
  const cells = [
    receivedAt.toISOString().slice(11, 23),
    method === "POST" ? cellText(type) : cellText(method),
    cellText(method === "OPTIONS" ? (headers["webhook-request-origin"] ?? null) : id),
    terminal.outStyle(style, withScheme(arrival)),
    `responded with ${answer.status}`,
    ...(path === "/" ? [] : [cellText(path)]),
  ];
  terminal.data(cells.join("  "));
  explain(terminal, arrival);
  for (const line of partLines(delivery, parts)) terminal.data(`    ${line}`);
}

function explain(terminal: Terminal, { answer, verification }: Arrival): void {
  if (answer.failure !== undefined) terminal.note(`    ${cellText(answer.failure)}`);
  if (verification?.kind === "rejected") terminal.note(`    ${explanation(verification)}`);
}

function partLines(delivery: ReceivedDelivery, { headers, payload }: PrintedParts): readonly string[] {
  return [...(headers ? headerLines(delivery) : []), ...(payload ? payloadLines(delivery.body) : [])];
}

function headerLines({ headers }: ReceivedDelivery): readonly string[] {
  return Object.entries(headers).map(([name, value]) => `${cellText(name)}: ${cellText(value)}`);
}

/** JSON is formatted, other text is returned unchanged, and for binary data the number of bytes is returned. */
function payloadLines(body: Uint8Array): readonly string[] {
  if (!isUtf8(body)) return [`${body.length} bytes of binary data`];
  const text = Buffer.from(body).toString("utf8");
  const value = tryParseJson(text);
  const shown = value === undefined || !keepsNumbers(text) ? text : JSON.stringify(value, null, 2);
  return shown.split("\n").map(cellText);
}

/** Whether parsing and formatting keep all numbers exact. */
function keepsNumbers(text: string): boolean {
  return !/\d{16}|\d\.\d{15}|\d[eE]/.test(text);
}

function payloadJson(body: Uint8Array): Readonly<Record<string, unknown>> {
  return isUtf8(body)
    ? { payload: Buffer.from(body).toString("utf8") }
    : { payload_base64: Buffer.from(body).toString("base64") };
}

const styles = { verified: "green", rejected: "red" } as const;

function verdict({ verification, question }: Arrival): string {
  if (question !== null) return question;
  if (verification === null) return "not checked";
  return verification.kind === "verified" ? "verified" : verification.cause;
}

function withScheme(arrival: Arrival): string {
  const { verification } = arrival;
  return verification?.kind === "verified" ? `verified ${verification.scheme}` : verdict(arrival);
}

function explanation({ cause, detail }: Extract<Verification, { kind: "rejected" }>): string {
  if (cause !== "unknown_key") return detail;
  return `${detail}. For a whsec_… secret, pass the webhook id as --key-id. For others, pass the right whpk_… key`;
}

/** RFC 8941 string without quotes. */
function unquoted(key: string | undefined): string | null {
  return key === undefined ? null : key.replace(/^"(.*)"$/, "$1");
}

/** The event type as the profiles send it. Messages of the profile `event-delivery` do not contain it. */
function eventTypeOf({ headers, body }: ReceivedDelivery): string | null {
  const named = headers["ce-type"] ?? headers["x-webhook-event"];
  if (named !== undefined) return named;
  const payload = tryParseJson(Buffer.from(body).toString("utf8"));
  const type = typeof payload === "object" && payload !== null && "type" in payload ? payload.type : null;
  return typeof type === "string" ? type : null;
}
