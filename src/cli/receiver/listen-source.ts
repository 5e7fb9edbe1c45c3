import { setTimeout as sleep } from "node:timers/promises";
import { mask } from "../../domain/http/masked-fields.ts";
import { parseSecret } from "../../domain/signing/signing-key.ts";
import { prepareSigner, type Signer } from "../../domain/signing/standard-webhooks.ts";
import type { ApiClient, Json } from "../api-client.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import type { Terminal } from "../terminal.ts";
import { printArrival, type PrintedParts } from "./delivery-line.ts";
import type { ReceivedDelivery, ReceiverAnswer } from "./local-receiver.ts";

/** A gateway request, as forwarded to this machine. */
interface FollowedRequest {
  readonly delivery: ReceivedDelivery;
  /** Scheme that the gateway verified. */
  readonly scheme: string;
  readonly id: string;
  readonly type: string | null;
}

const everyMs = 1_000;
const pageRows = 100;
/** Pages per poll. Further requests are reported as missed. */
const pagesMax = 10;

/** Authentic requests, whether or not a connection forwarded them. */
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
      ? [names === "" ? "Add one with /ui/sources/new or POST /v1/sources." : `Available sources: ${names}`]
      : [`Use one of these ids: ${found.map((one) => String(one["id"])).join(", ")}`],
  );
}

/**
 * Polls the request log once a second, so that the server does not need to reach this machine. New requests go to
 * `receive`, oldest first; rejected ones go to `reject`.
 */
export async function followSource(order: {
  readonly client: ApiClient;
  readonly sourceId: string;
  readonly signal: AbortSignal;
  /** Called when following has started. Later requests are not missed. */
  readonly begun: () => void;
  readonly receive: (request: FollowedRequest) => Promise<void>;
  readonly reject: (row: Json) => void;
  readonly missed: () => void;
}): Promise<void> {
  const { client, sourceId, signal } = order;
  const before = await newest(client, { source_id: sourceId, limit: pageRows });
  const seen = new Set(before.map(idOf));
  // Older requests that were not on the first page are not new.
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

async function newest(client: ApiClient, query: { readonly source_id: string; readonly limit: number }) {
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
  /** Signs forwarded requests like a webhook with these secrets. */
  readonly secrets: readonly string[];
  readonly stopped: Promise<unknown>;
  /** Null only prints. */
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

/** Signs the request like the profile `standard`. */
function signed({ id, delivery }: FollowedRequest, sign: Signer): ReceivedDelivery {
  const timestampSeconds = Math.floor(Date.now() / 1_000);
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": sign({ messageId: id, timestampSeconds, body: delivery.body }),
  };
  return { ...delivery, headers: { ...delivery.headers, ...headers } };
}
