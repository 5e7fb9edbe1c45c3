/** A server with a gateway and one receiver, for test files that try many settings of sources and connections. */
import assert from "node:assert/strict";
import type { RunningPosthorn } from "../../../src/app/posthorn.ts";
import { type Receiver, startReceiver } from "../../peers/receiver.ts";
import type { Client } from "../api/client.fixture.ts";
import { openGateway, type RunningServer } from "../api/running-server.fixture.ts";
import { hookOf, type Json, makeSource, type Mode, post, type SentHeaders, signed } from "./scene.fixture.ts";

/** The settings of a source and its connected webhooks. */
export interface SourceWanted {
  /** Fields of the source. The default mode is `pass_through`. */
  readonly source?: Json;
  readonly connection?: Json;
  readonly webhook?: Json;
  readonly to?: readonly Receiver[];
}

export class GatewayScene {
  readonly #settings: Json;
  #world!: RunningServer;
  receiver!: Receiver;

  constructor(settings: Json = {}) {
    this.#settings = settings;
  }

  get running(): RunningPosthorn {
    return this.#world.running;
  }

  get admin(): Client {
    return this.#world.admin;
  }

  async start(): Promise<void> {
    [this.#world, this.receiver] = await Promise.all([openGateway(this.#settings), startReceiver()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#world.close(), this.receiver.close()]);
  }

  /** Creates a source. The receivers discard their earlier requests and accept new ones. */
  async source({ source = {}, connection = {}, webhook = {}, to = [this.receiver] }: SourceWanted = {}) {
    const { mode = "pass_through", ...more } = source;
    for (const receiver of to) startAnew(receiver);
    const webhooks = to.map((receiver) => hookOf(receiver, webhook));
    const wanted = { mode: mode as Mode, more, webhooks, rules: connection };
    const { id, address: url, connections } = await makeSource(this.admin, wanted);
    return {
      id,
      url,
      connections,
      send: (body: string, headers: SentHeaders = {}) =>
        post(url, body, { headers: { ...signed(body), ...headers } }),
      requests: async (query = "") =>
        (await this.admin.get(`/v1/requests?source_id=${id}${query}`)).body["data"] as unknown as Json[],
    };
  }

  /** Adds a webhook to a source. Its receiver starts without recorded requests. */
  async connect(sourceId: string, receiver: Receiver): Promise<void> {
    startAnew(receiver);
    const hook = { ...hookOf(receiver), events: ["relayed"], profile: "event-delivery", bearer_token: "t" };
    const made = await this.created("/v1/webhooks", hook);
    await this.created("/v1/connections", { source_id: sourceId, webhook_id: made["id"] });
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

function startAnew(receiver: Receiver): void {
  receiver.clear();
  receiver.script(() => ({}));
}
