/** A server with one tenant, its receiver, and a browser: the setup of each portal test. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Frame, Page } from "playwright-core";
import { portalCapabilities } from "../../src/domain/scope.ts";
import { root } from "../packages/built-package.fixture.ts";
import { type Receiver, startReceiver } from "../peers/receiver.ts";
import { PosthornProcess } from "../scenarios/posthorn-process.fixture.ts";
import { openBrowser } from "./browser.fixture.ts";

export type Json = Readonly<Record<string, unknown>>;

/** A session with all capabilities. */
export const everything = { capabilities: portalCapabilities };

export class PortalWorld {
  readonly server: PosthornProcess;
  readonly receiver: Receiver;
  readonly browser: Browser;
  webhookId = "";

  constructor(parts: Pick<PortalWorld, "server" | "receiver" | "browser">) {
    this.server = parts.server;
    this.receiver = parts.receiver;
    this.browser = parts.browser;
  }

  static async open(env: Readonly<Record<string, string>> = {}): Promise<PortalWorld> {
    const [server, receiver, browser] = await Promise.all([
      PosthornProcess.start({ env }),
      startReceiver(),
      openBrowser(),
    ]);
    const world = new PortalWorld({ server, receiver, browser });
    await world.call("PUT", "/v1/tenants/acme", { name: "Acme" });
    const type = {
      description: "An order was paid.",
      examples: [{ order_id: 7 }],
      schema: { type: "object" },
    };
    await world.call("PUT", "/v1/event-types/order.paid?tenant_id=acme", type);
    const webhook = { tenant_id: "acme", events: ["order.*"], description: "Shop" };
    const made = await world.call("POST", "/v1/webhooks", { ...webhook, url: receiver.url("/first") });
    world.webhookId = String(made["id"]);
    await world.publish(1);
    return world;
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.receiver.close();
    await this.server.remove();
  }

  /** Called after a test. An open page would continue to poll and would receive the events of later tests. */
  async closePages(): Promise<void> {
    await Promise.all(this.browser.contexts().map((context) => context.close()));
  }

  async call(method: string, path: string, body?: unknown): Promise<Json> {
    const { status, body: answer } = await this.server.call(method, path, body);
    assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return (answer ?? {}) as Json;
  }

  publish(orderId: number): Promise<Json> {
    const event = { tenant_id: "acme", event_type: "order.paid", data: { order_id: orderId } };
    return this.call("POST", "/v1/events", event);
  }

  /** Resolves when the event has arrived at the path. */
  async publishTo(path: string): Promise<void> {
    const seen = () => this.receiver.requests.filter((request) => request.path === path).length;
    const before = seen();
    await this.publish(2);
    await this.receiver.waitUntil(() => seen() > before);
  }

  session(more: object = {}): Promise<Json> {
    return this.call("POST", "/v1/portal-sessions", { tenant_id: "acme", ...more });
  }

  /** Opens a portal page in a separate browser context. */
  async visit(more: object = {}, path = "", options: object = {}): Promise<Page> {
    const page = await (await this.browser.newContext({ locale: "en", ...options })).newPage();
    const url = new URL(String((await this.session(more))["url"]));
    url.pathname += path;
    await page.goto(url.href);
    await page.locator("h1").waitFor();
    return page;
  }
}

/** The messages of a language, by key. */
export function wordsOf(locale: "en" | "de"): (key: string) => string {
  const file = join(root, "dashboard", "messages", `${locale}.json`);
  const messages = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, string>>;
  return (key) => {
    const text = messages[key];
    assert.ok(text !== undefined, `${locale} has no message ${key}`);
    return text;
  };
}

export async function frameOf(page: Page): Promise<Frame> {
  const handle = await page.waitForSelector("posthorn-portal iframe");
  const frame = await handle.contentFrame();
  assert.ok(frame !== null);
  await frame.locator("h1").waitFor();
  return frame;
}
