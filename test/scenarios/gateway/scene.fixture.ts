/**
 * Shared parts of the gateway scenarios: a sender that signs, keys in the notations of producers, and connected
 * sources.
 */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { request as httpRequest } from "node:http";
import type { ReceivedRequest, Receiver } from "../../peers/receiver.ts";
import { type Client, textOf } from "../api/client.fixture.ts";

export type Json = Readonly<Record<string, unknown>>;
export type Mode = "pass_through" | "store_and_forward";
export const modes: readonly Mode[] = ["pass_through", "store_and_forward"];

export interface Sent {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export type SentHeaders = Readonly<Record<string, string | string[]>>;

const secret = "a long random string";
export const verification = {
  type: "hmac",
  header: "X-Hub-Signature-256",
  prefix: "sha256=",
  secrets: [secret],
};

/** Keys as producers send them, including spacing and parameters. */
export const oddKeys = [
  '"plain"',
  String.raw`"a\"b\\c"`,
  String.raw`"a\"b"`,
  "bare-key_1",
  "bare; with=parameters",
  '"with parameters";a=1;b="x y"',
  '"odd   spacing  inside"',
  `"${"k".repeat(255)}"`,
  "b".repeat(255),
];

/** Sends one request with the given headers on a separate connection. Rejects if the connection ends early. */
export function post(
  url: string,
  body: string | Uint8Array,
  { headers = {}, method = "POST" }: { readonly headers?: SentHeaders; readonly method?: string } = {},
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    request.on("error", reject);
    request.end(body);
  });
}

export function signed(body: string | Uint8Array): SentHeaders {
  return {
    "content-type": "application/json",
    "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
  };
}

/** The key as it is sent over the wire. */
export function rawHeader({ rawHeaders }: ReceivedRequest, name: string): string | undefined {
  const at = rawHeaders.findIndex((text, index) => index % 2 === 0 && text.toLowerCase() === name);
  return at < 0 ? undefined : rawHeaders[at + 1];
}

export interface MadeSource {
  readonly id: string;
  /** The address as the API returns it. */
  readonly address: string;
  /** The path of the source's secret address. */
  readonly path: string;
  readonly connections: readonly string[];
  readonly webhooks: readonly string[];
}

/**
 * Creates a source with a connection to each of these webhooks. In `store_and_forward` mode, also acknowledges the
 * service description.
 */
export async function makeSource(
  admin: Client,
  {
    mode,
    more = {},
    webhooks,
    rules = {},
  }: {
    readonly mode: Mode;
    readonly more?: Json;
    readonly webhooks: readonly Json[];
    /** Rules for every connection. */
    readonly rules?: Json;
  },
): Promise<MadeSource> {
  const made = await admin.post("/v1/sources", { name: "shop", verification, ...more });
  assert.equal(made.status, 201, made.text);
  const id = textOf(made.body["source_id"]);
  const address = textOf(made.body["url"]);
  if (mode === "store_and_forward") await storeAndForward(admin, id);
  const connections: string[] = [];
  const ids: string[] = [];
  for (const webhook of webhooks) {
    const to = await admin.post("/v1/webhooks", {
      events: ["relayed"],
      profile: "event-delivery",
      bearer_token: "t",
      retry_config: { schedule_ms: [50, 50, 50] },
      ...webhook,
    });
    assert.equal(to.status, 201, to.text);
    const ends = { source_id: id, webhook_id: textOf(to.body["id"]) };
    const connection = await admin.post("/v1/connections", { ...ends, ...rules });
    assert.equal(connection.status, 201, connection.text);
    connections.push(textOf(connection.body["id"]));
    ids.push(ends.webhook_id);
  }
  return { id, address, path: new URL(address).pathname, connections, webhooks: ids };
}

async function storeAndForward(admin: Client, id: string): Promise<void> {
  const version = textOf((await admin.get("/service-description")).body["version"]);
  const acknowledged = await admin.post(`/v1/sources/${id}/acknowledge`, { version });
  assert.equal(acknowledged.status, 200, acknowledged.text);
  const changed = await admin.call("PATCH", `/v1/sources/${id}`, { body: { mode: "store_and_forward" } });
  assert.equal(changed.status, 200, changed.text);
}

export function hookOf(receiver: Receiver, more: Json = {}): Json {
  return { url: receiver.url("/hook"), ...more };
}
