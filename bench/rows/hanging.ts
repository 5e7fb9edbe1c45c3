import { writeFileSync } from "node:fs";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type NameServer, startNameServer } from "../../test/peers/name-server.ts";
import {
  type Reaction,
  type ReceivedRequest,
  type Receiver as ScriptedReceiver,
  startReceiver,
} from "../../test/peers/receiver.ts";
import { callApi, type Home, ProductProcess, type ServedProduct } from "../product/product.ts";
import type { Context, Line, Row } from "../row.ts";
import { startServers } from "../servers.ts";
import { percentile } from "../measure.ts";

/** Which receivers hang, and how. */
interface Mode {
  readonly name: string;
  readonly tenants: number;
  readonly webhooksEach: number;
  readonly hang: "answer" | "later answers" | "tls" | "drip" | "oauth" | "verification" | "dns";
  /** Whether the measured new webhooks belong to a hanging tenant. */
  readonly ownNew?: boolean;
}

const modes: readonly Mode[] = [
  { name: "300 new", tenants: 1, webhooksEach: 300, hang: "answer" },
  { name: "300 new, own", tenants: 1, webhooksEach: 300, hang: "answer", ownNew: true },
  { name: "30 x 4 turning", tenants: 30, webhooksEach: 4, hang: "later answers" },
  { name: "30 x 10 new", tenants: 30, webhooksEach: 10, hang: "answer" },
  { name: "300 TLS", tenants: 1, webhooksEach: 300, hang: "tls", ownNew: true },
  { name: "300 drip", tenants: 1, webhooksEach: 300, hang: "drip", ownNew: true },
  { name: "300 OAuth", tenants: 1, webhooksEach: 300, hang: "oauth", ownNew: true },
  { name: "30 verifying", tenants: 3, webhooksEach: 10, hang: "verification", ownNew: true },
  { name: "300 DNS", tenants: 1, webhooksEach: 300, hang: "dns", ownNew: true },
];
const quickModes = modes.filter(
  ({ hang }) => hang === "answer" || hang === "later answers" || hang === "dns",
);

const knownTenants = 5;
const knownWebhooks = 100;
const knownPerSecond = 40;
const newWebhooks = 5;
const warmUpSeconds = 2;
const quickMs = 20;
/** An event that has not arrived by this time counts as if it had taken this long. */
const arrivalMsMax = 60_000;
const firstMsMax = 6_000;
const ratioMax = 1.5;

/** Measures how hanging receivers affect quick and new webhooks, with the embedded store. Part of the row `tenants`. */
export async function hangingModes(context: Context): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const mode of context.quick ? quickModes : modes) {
    const dataDir = context.folders.fresh("hanging");
    lines.push(...(await measure(context, `tenants: ${mode.name}`, mode, { dataDir })));
    context.folders.discard(dataDir);
  }
  lines.push(await gatewayLine(context));
  return lines;
}

/** The same measurement as for the embedded store, on PostgreSQL. */
export const tenantsPostgres: Row = {
  name: "tenants-postgres",
  async run(context) {
    const lines: Line[] = [];
    for (const mode of context.quick ? quickModes : modes) {
      const servers = await startServers(context.folders, false);
      try {
        lines.push(...(await measure(context, `tenants-postgres: ${mode.name}`, mode, servers.home)));
      } finally {
        await servers.remove();
      }
    }
    return lines;
  },
};

async function measure(context: Context, name: string, mode: Mode, home: Home): Promise<readonly Line[]> {
  const names = mode.hang === "dns" ? await startNameServer() : null;
  const receiver = await Receiver.start(names);
  const product = new ProductProcess(names === null ? null : resolvConfOf(names, home));
  try {
    const api = new Api(await product.serve(home), receiver);
    const seconds = context.quick ? 3 : 6;
    await api.createKnown();
    // Warms up, because code that is not compiled yet would slow down the baseline.
    await knownP95(api, warmUpSeconds);
    const alone = await knownP95(api, seconds);
    await makeHang(api, receiver, mode);
    const [first, burdened] = await Promise.all([
      firstMs(api, mode.ownNew === true ? "hanging-0" : "new"),
      knownP95(api, seconds),
    ]);
    const { hanging } = receiver;
    context.progress(
      `${name}: p95 ${burdened.toFixed(1)} ms, alone ${alone.toFixed(1)}; first ${first.toFixed(0)} ms; ${hanging} hung`,
    );
    if (hanging === 0) throw new Error(`${name}: nothing hung`);
    const ratio = burdened / alone;
    return [
      {
        name,
        unit: "ms p95 of quick ones",
        value: burdened,
        baseline: alone,
        ratio,
        goal: `≤ ${ratioMax} × alone`,
        pass: ratio <= ratioMax,
      },
      {
        name: `${name}: first`,
        unit: "ms to a new one",
        value: first,
        baseline: null,
        ratio: null,
        goal: "≤ 6 s",
        pass: first <= firstMsMax,
      },
    ];
  } finally {
    await product.kill();
    await receiver.close();
    await names?.close();
  }
}

function resolvConfOf(names: NameServer, { dataDir }: Home): string {
  const file = join(dataDir, "resolv.conf");
  writeFileSync(file, `nameserver ${names.address}\n`);
  return file;
}

/** Makes the receivers hang. Resolves when all their requests hang. */
async function makeHang(api: Api, receiver: Receiver, { hang, ...mode }: Mode): Promise<void> {
  const targets = Array.from({ length: mode.tenants }, (_, index) => `hanging-${index}`).flatMap((tenant) =>
    Array.from({ length: mode.webhooksEach }, (_, index) => ({ tenant, index, type: `hang.${index}` })),
  );
  for (const tenant of new Set(targets.map((target) => target.tenant)))
    await api.call(`PUT /v1/tenants/${tenant}`, {});
  const oauth2 = {
    token_url: `${receiver.origin}/hang`,
    client_id: "bench",
    client_secret: "of the bench",
  };
  for (const { tenant, index, type } of targets) {
    const url = receiver.hangingUrl(hang, index);
    const webhook = { tenant_id: tenant, url, events: [type], signing: { schemes: ["v1"] } };
    if (hang === "verification")
      void api
        .call("POST /v1/webhooks", { ...webhook, verification: { method: "challenge" } })
        .catch(() => null);
    else await api.call("POST /v1/webhooks", hang === "oauth" ? { ...webhook, oauth2 } : webhook);
  }
  if (hang === "verification") return;
  const publishAll = async (): Promise<void> => {
    const events = targets.map(({ tenant, type }) => ({ event_type: type, tenant_id: tenant, data: {} }));
    await api.call("POST /v1/events/batch", { events });
  };
  if (hang === "later answers") {
    await publishAll();
    await sleep(2_000);
    receiver.turned = true;
  }
  for (let round = 0; round < 5; round += 1) {
    await publishAll();
    if (hang === "later answers") await sleep(250);
  }
}

/** Creates webhooks one after another. Returns the longest time that the first event of any of them took to arrive. */
async function firstMs(api: Api, tenant: string): Promise<number> {
  await api.call(`PUT /v1/tenants/${tenant}`, {});
  const times: Promise<number>[] = [];
  for (let nth = 0; nth < newWebhooks; nth += 1) {
    await api.createQuick(tenant, `new.${nth}`);
    times.push(api.timed({ event_type: `new.${nth}`, tenant_id: tenant }));
    await sleep(500);
  }
  return Math.max(...(await Promise.all(times)));
}

async function knownP95(api: Api, seconds: number): Promise<number> {
  const times: Promise<number>[] = [];
  for (let nth = 0; nth < seconds * knownPerSecond; nth += 1) {
    times.push(api.timed(knownEvent(nth % knownWebhooks)));
    await sleep(1_000 / knownPerSecond);
  }
  return percentile(await Promise.all(times), 0.95);
}

function knownEvent(index: number): { readonly event_type: string; readonly tenant_id: string } {
  return { event_type: `known.${index}`, tenant_id: `known-${index % knownTenants}` };
}

/**
 * Destinations of 25 sources of one tenant hang, with 22 senders each. Measures how many messages to another tenant's
 * source are accepted.
 */
async function gatewayLine(context: Context): Promise<Line> {
  const receiver = await Receiver.start(null);
  const product = new ProductProcess();
  try {
    const api = new Api(await product.serve({ dataDir: context.folders.fresh("hanging-gateway") }), receiver);
    const hanging: string[] = [];
    for (const tenant of ["hanging", "other"]) await api.call(`PUT /v1/tenants/${tenant}`, {});
    for (let n = 0; n < 25; n += 1) hanging.push(await api.source("hanging", `${receiver.origin}/hang`));
    const other = await api.source("other", `${receiver.origin}/quick`);
    const post = (url: string, n: number) => fetch(url, { method: "POST", body: JSON.stringify({ n }) });
    const senders = hanging.flatMap((url) =>
      Array.from({ length: 22 }, (_, n) =>
        post(url, n).then(
          (response) => response.arrayBuffer(),
          () => null,
        ),
      ),
    );
    await sleep(500);
    let accepted = 0;
    for (let n = 0; n < 60; n += 1) accepted += (await post(other, n)).status === 200 ? 1 : 0;
    await product.kill();
    await Promise.all(senders);
    return {
      name: "tenants: gateway, 25 x 22",
      unit: "of 60 accepted",
      value: accepted,
      baseline: 60,
      ratio: accepted / 60,
      goal: "60 of 60",
      pass: accepted === 60,
    };
  } finally {
    await product.kill();
    await receiver.close();
  }
}

/** A client for Posthorn's HTTP API. */
class Api {
  readonly #served: ServedProduct;
  readonly #receiver: Receiver;
  #count = 0;

  constructor(served: ServedProduct, receiver: Receiver) {
    this.#served = served;
    this.#receiver = receiver;
  }

  async call(call: string, body: object): Promise<Record<string, string>> {
    return JSON.parse(await callApi(this.#served, call, body)) as Record<string, string>;
  }

  /** Creates webhooks of quick receivers, each of which has accepted an event. */
  async createKnown(): Promise<void> {
    const known = Array.from({ length: knownWebhooks }, (_, index) => knownEvent(index));
    for (const tenant of new Set(known.map(({ tenant_id }) => tenant_id)))
      await this.call(`PUT /v1/tenants/${tenant}`, {});
    for (const { tenant_id, event_type } of known) await this.createQuick(tenant_id, event_type);
    const times = await Promise.all(known.map((event) => this.timed(event)));
    if (times.some((ms) => ms >= arrivalMsMax)) throw new Error("a quick webhook got no event");
  }

  async createQuick(tenantId: string, eventType: string): Promise<void> {
    const url = this.#receiver.quickUrl(eventType);
    await this.call("POST /v1/webhooks", { tenant_id: tenantId, url, events: [eventType] });
  }

  /** Publishes an event. Returns the milliseconds from the call until the event arrives. */
  async timed(event: object): Promise<number> {
    this.#count += 1;
    const id = `n${this.#count}`;
    const arrived = this.#receiver.arrival(id);
    const startedAt = performance.now();
    await this.call("POST /v1/events", { ...event, data: { id } });
    const timeout = sleep(arrivalMsMax, startedAt + arrivalMsMax, { ref: false });
    return (await Promise.race([arrived, timeout])) - startedAt;
  }

  /** Creates a source and returns its URL. */
  async source(tenantId: string, destination: string): Promise<string> {
    const source = await this.call("POST /v1/sources", {
      name: "bench",
      tenant_id: tenantId,
      verification: { type: "none" },
    });
    const webhook = await this.call("POST /v1/webhooks", {
      tenant_id: tenantId,
      url: destination,
      events: ["relayed"],
      signing: { schemes: ["v1"] },
    });
    await this.call("POST /v1/connections", { source_id: source["source_id"], webhook_id: webhook["id"] });
    return source["url"] ?? "";
  }
}

/** Receivers that are quick, and receivers that hang in several ways. */
class Receiver {
  turned = false;
  readonly #http: ScriptedReceiver;
  readonly #names: NameServer | null;
  /** Number of hanging requests and of connections whose TLS handshake hangs. */
  #hanging = 0;
  /** Accepts connections without sending anything, so that no TLS handshake ends. */
  readonly #silent = createTcpServer((socket) => {
    this.#hanging += 1;
    socket.on("error", () => socket.destroy());
  });
  readonly #awaited = new Map<string, (at: number) => void>();

  private constructor(http: ScriptedReceiver, names: NameServer | null) {
    this.#http = http;
    this.#names = names;
    // Uses the shortest cache time for names, so that quick webhooks look up their names again while others hang.
    if (names !== null) names.ttlS = 1;
    http.script((request) => this.#answer(request));
  }

  /** With a name server, each URL has its own host name. */
  static async start(names: NameServer | null): Promise<Receiver> {
    const receiver = new Receiver(await startReceiver({ record: false }), names);
    await new Promise<void>((resolve) => receiver.#silent.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get origin(): string {
    return this.#http.origin;
  }

  /** The number of requests, TLS handshakes and host names that have hung so far. */
  get hanging(): number {
    const { unanswered, questions } = this.#names ?? { unanswered: new Set(), questions: [] };
    return this.#hanging + unanswered.intersection(new Set(questions)).size;
  }

  quickUrl(label: string): string {
    if (this.#names === null) return `${this.origin}/quick`;
    const hostname = `${label}.hooks.test`;
    this.#names.addresses.set(hostname, ["127.0.0.1"]);
    return `http://${hostname}:${this.#http.port}/quick`;
  }

  hangingUrl(hang: Mode["hang"], index: number): string {
    if (hang === "tls") return `https://127.0.0.1:${(this.#silent.address() as AddressInfo).port}/`;
    if (hang === "later answers") return `${this.origin}/turn`;
    if (hang === "drip") return `${this.origin}/drip`;
    if (hang !== "dns") return `${this.origin}/hang`;
    const hostname = `hang-${index}.hooks.test`;
    this.#names?.unanswered.add(hostname);
    return `http://${hostname}:${this.#http.port}/hang`;
  }

  arrival(id: string): Promise<number> {
    return new Promise((resolve) => void this.#awaited.set(id, resolve));
  }

  close(): Promise<void> {
    this.#silent.close();
    return this.#http.close();
  }

  async #answer({ path, text }: ReceivedRequest): Promise<Reaction> {
    const isDrip = path.startsWith("/drip");
    const isSilent = path.startsWith("/hang") || (path.startsWith("/turn") && this.turned);
    if (isDrip || isSilent) this.#hanging += 1;
    if (isDrip) return { drip: ".", everyMs: 500 };
    if (isSilent) return "hang";
    await sleep(quickMs);
    this.#awaited.get(/"id":"(n\d+)"/.exec(text)?.[1] ?? "")?.(performance.now());
    // A persistent connection needs no name lookup.
    return this.#names === null ? {} : { headers: { connection: "close" } };
  }
}
