/** A server with a gateway and one receiver behind it, for files that try many settings of sources and connections. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningPosthorn, startPosthorn } from "../../src/app/posthorn.ts";
import { resolveValues } from "../../src/config/resolve.ts";
import { type Receiver, startReceiver } from "../peers/receiver.ts";
import { type Client, createClient, textOf } from "./api/client.ts";

export type Json = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string | string[]>>;

export interface Sent {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

const secret = "a long random text";
const hmacVerification = {
  ...{ type: "hmac", header: "X-Hub-Signature-256", prefix: "sha256=", secrets: [secret] },
};

/** As the sender of `hmacVerification` signs it. */
function signed(body: string): Headers {
  return {
    "content-type": "application/json",
    "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
  };
}

/** Without a pool of connections and without fields of its own. */
export function sendRequest(
  url: string,
  { method = "POST", body = "", headers = {} }: { method?: string; body?: string; headers?: Headers } = {},
): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers: { ...headers }, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** What a source is made of, and whom it is connected to. */
export interface SourceWanted {
  /** Members of the source; stored and forwarded where `mode` says so. */
  readonly source?: Json;
  readonly connection?: Json;
  readonly webhook?: Json;
  readonly to?: readonly Receiver[];
}

export class GatewayScene {
  readonly #dataDir = mkdtempSync(join(tmpdir(), "posthorn-gateway-"));
  readonly #settings: Json;
  running!: RunningPosthorn;
  admin!: Client;
  receiver!: Receiver;

  constructor(settings: Json = {}) {
    this.#settings = settings;
  }

  async start(): Promise<void> {
    const options = { dataDir: this.#dataDir, port: 0, dev: true, logLevel: "error", ...this.#settings };
    const resolution = resolveValues(options);
    assert.equal(resolution.kind, "resolved");
    this.running = await startPosthorn(resolution.settings, { log: silent });
    this.admin = createClient({ baseUrl: this.running.url ?? "", key: this.running.adminKey });
    this.receiver = await startReceiver();
  }

  async stop(): Promise<void> {
    await this.running.stop();
    await this.receiver.close();
    rmSync(this.#dataDir, { recursive: true });
  }

  /** The receiver forgets what came before, and accepts what comes. */
  async source({ source = {}, connection = {}, webhook = {}, to }: SourceWanted = {}) {
    const { mode, ...members } = source;
    const made = await this.created("/v1/sources", {
      ...{ name: "shop", verification: hmacVerification },
      ...members,
    });
    const id = textOf(made["source_id"] as never);
    if (mode === "store_and_forward") {
      const { version } = (await this.admin.get("/service-description")).body;
      const acknowledged = await this.admin.post(`/v1/sources/${id}/acknowledge`, { version });
      assert.equal(acknowledged.status, 200, acknowledged.text);
      await this.change(`/v1/sources/${id}`, { mode });
    }
    const connections: string[] = [];
    for (const receiver of to ?? [this.receiver])
      connections.push(await this.connect(id, { receiver, connection, webhook }));
    const url = this.reached(textOf(made["url"] as never));
    return {
      ...{ id, url, connections },
      send: (body: string, headers: Headers = {}) =>
        sendRequest(url, { body, headers: { ...signed(body), ...headers } }),
      requests: async (query = "") =>
        (await this.admin.get(`/v1/requests?source_id=${id}${query}`)).body["data"] as unknown as Json[],
    };
  }

  /** A free port of the gateway's own is in no address. */
  reached(address: string): string {
    const { inboundUrl } = this.running;
    return inboundUrl === null ? address : `${inboundUrl}${new URL(address).pathname}`;
  }

  async connect(
    sourceId: string,
    wanted: { readonly receiver: Receiver; readonly connection?: Json; readonly webhook?: Json },
  ): Promise<string> {
    const { receiver, connection = {}, webhook = {} } = wanted;
    receiver.clear();
    receiver.script(() => ({}));
    const made = await this.created("/v1/webhooks", {
      ...{ url: receiver.url("/hook"), events: ["relayed"], profile: "event-delivery", bearer_token: "t" },
      ...webhook,
    });
    const ends = { source_id: sourceId, webhook_id: made["id"], ...connection };
    return textOf((await this.created("/v1/connections", ends))["id"] as never);
  }

  async created(path: string, body: Json): Promise<Json> {
    const made = await this.admin.post(path, body);
    assert.equal(made.status, 201, made.text);
    return made.body;
  }

  async change(path: string, body: Json): Promise<void> {
    const changed = await this.admin.call("PATCH", path, { body });
    assert.equal(changed.status, 200, changed.text);
  }
}

const nothing = (): void => undefined;
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };
