import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Home } from "../product/home.ts";
import { ProductProcess } from "../product/product.ts";
import type { Context, Line } from "../row.ts";
import { onPostgres } from "../servers/server-home.ts";
import { requireServer } from "../servers/require-server.ts";
import { percentile } from "../statistics.ts";

/** Whose requests hang, and how. */
interface Mode {
  readonly name: string;
  readonly tenants: number;
  readonly webhooksEach: number;
  readonly path: "/hang" | "/turn" | "/drip" | "tls";
  /** The new webhook that is measured belongs to a hanging tenant. */
  readonly ownNew?: boolean;
  readonly more?: "oauth" | "verification";
}

const modes: readonly Mode[] = [
  { name: "300 new", tenants: 1, webhooksEach: 300, path: "/hang" },
  { name: "300 new, own", tenants: 1, webhooksEach: 300, path: "/hang", ownNew: true },
  { name: "30 x 4 turning", tenants: 30, webhooksEach: 4, path: "/turn" },
  { name: "30 x 10 new", tenants: 30, webhooksEach: 10, path: "/hang" },
  { name: "300 TLS", tenants: 1, webhooksEach: 300, path: "tls", ownNew: true },
  { name: "300 drip", tenants: 1, webhooksEach: 300, path: "/drip", ownNew: true },
  { name: "300 OAuth", tenants: 1, webhooksEach: 300, path: "/hang", ownNew: true, more: "oauth" },
  { name: "30 verifying", tenants: 3, webhooksEach: 10, path: "/hang", ownNew: true, more: "verification" },
];

const knownTenants = 5;
const quickMs = 20;
const firstMsMax = 6_000;
const ratioMax = 1.5;

/** What quick and new webhooks notice of receivers that hang: embedded, and on PostgreSQL where there is one. */
export async function hangingModes(context: Context): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const mode of context.quick ? modes.slice(0, 4) : modes) {
    const dataDir = await context.folders.filled({
      name: "hanging",
      key: "hanging",
      fill: async () => undefined,
    });
    lines.push(
      ...(await measure(context, `tenants: ${mode.name}`, mode, {
        dataDir: context.folders.copy({ from: dataDir, name: "hanging-run" }),
      })),
    );
  }
  lines.push(await gatewayLine(context));
  const hasPostgres = await requireServer("pg").then(
    () => true,
    () => false,
  );
  for (const mode of context.quick || !hasPostgres ? [] : modes.slice(0, 4)) {
    const place = await onPostgres(context.folders);
    lines.push(...(await measure(context, `tenants: postgres, ${mode.name}`, mode, place.home)));
    await place.remove();
  }
  return lines;
}

async function measure(context: Context, name: string, mode: Mode, home: Home): Promise<readonly Line[]> {
  const receiver = await Receiver.start();
  const product = new ProductProcess();
  try {
    const api = new Api(await product.serve(home));
    const seconds = context.quick ? 3 : 10;
    await api.known(receiver.origin);
    await api.publishKnown(1);
    await sleep(1_000);
    const alone = await knownP95(api, receiver, seconds);
    await makeHang(api, receiver, mode);
    const [first, beside] = await Promise.all([
      firstMs(api, receiver, mode.ownNew === true ? "hanging-0" : "new"),
      knownP95(api, receiver, seconds),
    ]);
    context.progress(
      `${name}: p95 ${beside.toFixed(1)} ms, alone ${alone.toFixed(1)}; first ${first.toFixed(0)} ms`,
    );
    const ratio = beside / alone;
    return [
      {
        ...{ name, unit: "ms p95 of quick ones", value: beside, baseline: alone, ratio },
        ...{ goal: `≤ ${ratioMax} × alone`, pass: ratio <= ratioMax },
      },
      {
        ...{ name: `${name}: first`, unit: "ms to a new one", value: first, baseline: null, ratio: null },
        ...{ goal: "≤ 6 s", pass: first <= firstMsMax },
      },
    ];
  } finally {
    await product.kill();
    receiver.close();
  }
}

/** Resolves when everything hangs; what it returns goes on meanwhile. */
async function makeHang(api: Api, receiver: Receiver, mode: Mode): Promise<void> {
  const url = mode.path === "tls" ? receiver.tlsUrl : `${receiver.origin}${mode.path}`;
  const tenants = Array.from({ length: mode.tenants }, (_, index) => `hanging-${index}`);
  const targets = tenants.flatMap((tenant) =>
    Array.from({ length: mode.webhooksEach }, (_, index) => ({ tenant, type: `hang.${index}` })),
  );
  for (const tenant of tenants) await api.call("PUT", `/v1/tenants/${tenant}`, {});
  const oauth2 = { token_url: `${receiver.origin}/hang`, client_id: "bench", client_secret: "of the bench" };
  for (const { tenant, type } of targets) {
    const webhook = { tenant_id: tenant, url, events: [type], signing: { schemes: ["v1"] } };
    if (mode.more === "verification")
      void api
        .call("POST", "/v1/webhooks", { ...webhook, verification: { method: "challenge" } })
        .catch(() => null);
    else await api.call("POST", "/v1/webhooks", mode.more === "oauth" ? { ...webhook, oauth2 } : webhook);
  }
  if (mode.more === "verification") return;
  const publishAll = async (): Promise<void> => {
    const events = targets.map(({ tenant, type }) => ({ event_type: type, tenant_id: tenant, data: {} }));
    await api.call("POST", "/v1/events/batch", { events });
  };
  if (mode.path === "/turn") {
    await publishAll();
    await sleep(2_000);
    receiver.turned = true;
  }
  for (let round = 0; round < 5; round += 1) {
    await publishAll();
    if (mode.path === "/turn") await sleep(250);
  }
}

/** Until the first event of a webhook that is created now has arrived. */
async function firstMs(api: Api, receiver: Receiver, tenant: string): Promise<number> {
  await api.call("PUT", `/v1/tenants/${tenant}`, {});
  const url = `${receiver.origin}/quick`;
  await api.call("POST", "/v1/webhooks", { tenant_id: tenant, url, events: ["new.made"] });
  return api.timed(receiver, { event_type: "new.made", tenant_id: tenant });
}

async function knownP95(api: Api, receiver: Receiver, seconds: number): Promise<number> {
  const times: Promise<number>[] = [];
  for (let nth = 0; nth < seconds * 20; nth += 1) {
    const tenant_id = `known-${nth % knownTenants}`;
    times.push(api.timed(receiver, { event_type: "known.made", tenant_id }));
    await sleep(50);
  }
  return percentile(await Promise.all(times), 0.95);
}

/** 25 sources of a tenant that hang, with 22 senders each: how many messages of another tenant's source are accepted. */
async function gatewayLine(context: Context): Promise<Line> {
  const receiver = await Receiver.start();
  const product = new ProductProcess();
  const from = await context.folders.filled({ name: "hanging", key: "hanging", fill: async () => undefined });
  try {
    const api = new Api(
      await product.serve({ dataDir: context.folders.copy({ from, name: "hanging-gateway" }) }),
    );
    const hanging: string[] = [];
    for (const tenant of ["hanging", "other"]) await api.call("PUT", `/v1/tenants/${tenant}`, {});
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
      ...{ name: "tenants: gateway, 25 x 22", unit: "of 60 accepted", value: accepted, baseline: 60 },
      ...{ ratio: accepted / 60, goal: "60 of 60", pass: accepted === 60 },
    };
  } finally {
    await product.kill();
    receiver.close();
  }
}

/** The HTTP API of the product. */
class Api {
  readonly #served: { readonly url: string; readonly adminKey: string };
  #count = 0;

  constructor(served: { readonly url: string; readonly adminKey: string }) {
    this.#served = served;
  }

  async call(method: string, path: string, body: object): Promise<Record<string, string>> {
    const headers = {
      "authorization": `Bearer ${this.#served.adminKey}`,
      "content-type": "application/json",
    };
    const response = await fetch(`${this.#served.url}${path}`, {
      method,
      headers,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, string>;
  }

  async known(origin: string): Promise<void> {
    for (let n = 0; n < knownTenants; n += 1) {
      await this.call("PUT", `/v1/tenants/known-${n}`, {});
      const webhook = { tenant_id: `known-${n}`, url: `${origin}/quick`, events: ["known.made"] };
      await this.call("POST", "/v1/webhooks", webhook);
    }
  }

  async publishKnown(rounds: number): Promise<void> {
    for (let nth = 0; nth < rounds * knownTenants; nth += 1)
      await this.call("POST", "/v1/events", {
        ...{ event_type: "known.made", tenant_id: `known-${nth % knownTenants}`, data: {} },
      });
  }

  /** Milliseconds from the call of publish until the event arrives. */
  async timed(receiver: Receiver, event: object): Promise<number> {
    this.#count += 1;
    const id = `n${this.#count}`;
    const arrived = receiver.arrival(id);
    const startedAt = performance.now();
    await this.call("POST", "/v1/events", { ...event, data: { id } });
    return (await arrived) - startedAt;
  }

  /** Its address. */
  async source(tenantId: string, destination: string): Promise<string> {
    const source = await this.call("POST", "/v1/sources", {
      ...{ name: "bench", tenant_id: tenantId, verification: { type: "none" } },
    });
    const webhook = await this.call("POST", "/v1/webhooks", {
      ...{ tenant_id: tenantId, url: destination, events: ["relayed"], signing: { schemes: ["v1"] } },
    });
    await this.call("POST", "/v1/connections", { source_id: source["source_id"], webhook_id: webhook["id"] });
    return source["url"] ?? "";
  }
}

/** Receivers that are quick, and that hang in several ways. */
class Receiver {
  turned = false;
  origin = "";
  tlsUrl = "";
  readonly #http = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => this.#answer(request.url ?? "", Buffer.concat(chunks).toString(), response));
  });
  /** Accepts connections and says nothing, so that no TLS handshake ends. */
  readonly #silent = createTcpServer((socket) => void socket.on("error", () => socket.destroy()));
  readonly #awaited = new Map<string, (at: number) => void>();
  readonly #drips = new Set<NodeJS.Timeout>();

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    await new Promise<void>((resolve) => receiver.#http.listen(0, "127.0.0.1", resolve));
    await new Promise<void>((resolve) => receiver.#silent.listen(0, "127.0.0.1", resolve));
    receiver.origin = `http://127.0.0.1:${(receiver.#http.address() as AddressInfo).port}`;
    receiver.tlsUrl = `https://127.0.0.1:${(receiver.#silent.address() as AddressInfo).port}/`;
    return receiver;
  }

  arrival(id: string): Promise<number> {
    return new Promise((resolve) => void this.#awaited.set(id, resolve));
  }

  close(): void {
    for (const drip of this.#drips) clearInterval(drip);
    this.#http.closeAllConnections();
    this.#http.close();
    this.#silent.close();
  }

  #answer(path: string, body: string, response: ServerResponse): void {
    if (path.startsWith("/hang") || (path.startsWith("/turn") && this.turned)) return;
    if (path.startsWith("/drip")) {
      response.writeHead(200, { "content-type": "text/plain" });
      const drip = setInterval(() => response.write("."), 500);
      this.#drips.add(drip);
      response.on("close", () => clearInterval(drip));
      return;
    }
    const id = /"id":"(n\d+)"/.exec(body)?.[1] ?? "";
    setTimeout(() => {
      response.end();
      this.#awaited.get(id)?.(performance.now());
    }, quickMs);
  }
}
