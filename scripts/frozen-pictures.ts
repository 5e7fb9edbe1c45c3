// Takes and compares screenshots of the pages of the dashboard and the portal at two widths, with fixed data and
// stopped clocks.
//
//   node scripts/with-runtime.mjs scripts/frozen-pictures.ts take FOLDER [NAME]
//   node scripts/with-runtime.mjs scripts/frozen-pictures.ts compare FOLDER FOLDER    counts the pixels that differ

import assert from "node:assert/strict";
import crypto, { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { mock } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { loggedIn, openBrowser } from "../test/browser/browser.fixture.ts";
import { refusingPath } from "../test/scenarios/api/agreeable-transport.fixture.ts";
import { eventually } from "../test/scenarios/eventually.fixture.ts";
import { SeededRandom } from "../test/simulation/seeded-random.ts";

/**
 * Later than the time on the browser's clock, because the browser would otherwise treat the session cookie as expired.
 */
const now = Date.UTC(2035, 0, 15, 12);
const widths = [1280, 360];
const hashes = new Set<string>();
/**
 * Maximum difference of a colour channel, out of 255. Two screenshots of the same page differ slightly where Chromium
 * smooths round corners.
 */
const channelDifferenceMax = 16;
const [command, ...folders] = process.argv.slice(2);
/** For `take`, the second argument selects screenshots whose names contain it. */
const [folder = "", other = ""] = folders;

const browser = await openBrowser();
try {
  if (command === "take" && folder !== "") await takeAll(browser);
  else if (command === "compare" && other !== "") await compareAll(browser);
  else throw new Error("take FOLDER, or compare FOLDER FOLDER");
} finally {
  await browser.close();
}

async function takeAll(on: Browser): Promise<void> {
  mkdirSync(folder, { recursive: true });
  mock.timers.enable({ apis: ["Date"], now });
  seedRandom();
  // Imported only now, so that the module uses the random numbers and the clock set above.
  const { openServer } = await import("../test/scenarios/api/running-server.fixture.ts");
  const server = await openServer();
  const { baseUrl: url, adminKey: key } = server;
  try {
    const call = callerOf(url, key);
    const { dashboard, portal } = await fill(call);
    for (const width of widths) {
      const options = { viewport: { width, height: 900 }, locale: "en-GB", timezoneId: "UTC" };
      const operator = await loggedIn(on, { url, key }, options);
      for (const [name, path] of dashboard)
        await take(operator, `${url}/ui/${path}`, `dashboard-${name}-${width}`);
      await operator.close();
      const customer = await on.newContext(options);
      for (const [name, path] of portal) {
        // A session ends when its page is closed.
        const session = await call("POST", "/v1/portal-sessions", { tenant_id: "acme", reference: "ann" });
        const link = new URL(String(session["url"]));
        link.pathname += path;
        await take(customer, link.href, `portal-${name}-${width}`);
      }
      await customer.close();
    }
  } finally {
    await server.close();
  }
}

/** IDs are shown on pages and determine the order of lists, so they must be the same in every run. */
function seedRandom(): void {
  const random = new SeededRandom("pictures");
  crypto.randomFillSync = ((bytes: Uint8Array) => {
    bytes.set(random.bytes(bytes.length));
    return bytes;
  }) as typeof crypto.randomFillSync;
  syncBuiltinESMExports();
}

type Call = (method: string, path: string, body?: object) => Promise<Readonly<Record<string, unknown>>>;

function callerOf(url: string, key: string): Call {
  return async (method, path, body = {}) => {
    // Each change gets a different time, so that lists have a fixed order.
    if (method !== "GET") mock.timers.tick(1_000);
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { "authorization": `Bearer ${key}`, "content-type": "application/json" },
      ...(method === "GET" ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text === "" ? "{}" : text) as Readonly<Record<string, unknown>>;
  };
}

type Paths = readonly (readonly [name: string, path: string])[];

async function fill(call: Call): Promise<{ readonly dashboard: Paths; readonly portal: Paths }> {
  await call("PUT", "/v1/tenants/acme", { name: "Acme" });
  const type = { description: "An order was paid.", examples: [{ order_id: 7 }], schema: { type: "object" } };
  await call("PUT", "/v1/event-types/order.paid", type);
  const subscribe = async (path: string, description: string) => {
    const url = `https://example.com${path}`;
    const { id } = await call("POST", "/v1/webhooks", {
      tenant_id: "acme",
      url,
      events: ["order.*"],
      description,
    });
    return String(id);
  };
  const webhook = await subscribe("/shop", "Shop backend");
  const refusing = await subscribe(refusingPath, "CRM");
  await call("POST", `/v1/webhooks/${await subscribe("/legacy", "Old system")}/disable`);
  let event = "";
  for (let number = 1; number <= 12; number += 1) {
    const body = { tenant_id: "acme", event_type: "order.paid", data: { order_id: number, total: 19.9 } };
    event = String((await call("POST", "/v1/events", body))["id"]);
    await delivered(call);
  }
  const verification = { type: "github", secrets: ["a long random string"] };
  const source = String(
    (await call("POST", "/v1/sources", { tenant_id: "acme", name: "GitHub", verification }))["source_id"],
  );
  const joined = await call("POST", "/v1/connections", { source_id: source, webhook_id: webhook });
  const rule = { metric: "exhausted", comparison: "above", threshold: 100 };
  await call("PUT", "/v1/alert-rules/frozen", rule);
  const [problem] = (await call("GET", "/v1/problems"))["data"] as readonly { readonly id: string }[];
  const [delivery] = (await call("GET", `/v1/deliveries?webhook_id=${refusing}`))["data"] as readonly {
    readonly id: string;
  }[];
  const started = await call("POST", "/v1/dlq/retry-batch", { rate_limit: { requests_per_second: 1_000 } });
  const operation = String(started["batch_operation_id"]);
  await eventually("the end of the operation", {
    ask: () => call("GET", `/v1/operations/${operation}`),
    holds: ({ status }) => status === "completed",
  });
  return pagesOf({
    webhook,
    refusing,
    event,
    source,
    operation,
    connection: String(joined["id"]),
    problem: problem?.id ?? "",
    delivery: delivery?.id ?? "",
  });
}

function pagesOf(ids: Readonly<Record<string, string>>): {
  readonly dashboard: Paths;
  readonly portal: Paths;
} {
  const same = (...names: string[]) => names.map((name) => [name, name] as const);
  return {
    dashboard: [
      ["overview", ""],
      ...same("deliveries", "events", "webhooks", "webhooks/new", "sources", "sources/new"),
      ...same("connections", "connections/new", "requests", "alerts", "problems", "dead-letters"),
      ...same("operations", "event-types", "event-types/order.paid", "event-types/order.paid/edit"),
      ...same("tenants", "tenants/acme", "tenants/acme/edit", "audit", "portal"),
      ["delivery", `deliveries/${ids["delivery"]}`],
      ["event", `events/${ids["event"]}`],
      ["webhook", `webhooks/${ids["refusing"]}`],
      ["webhook-edit", `webhooks/${ids["webhook"]}/edit`],
      ["source", `sources/${ids["source"]}`],
      ["connection", `connections/${ids["connection"]}`],
      ["problem", `problems/${ids["problem"]}`],
      ["operation", `operations/${ids["operation"]}`],
    ],
    portal: [
      ...same("endpoints", "add", "activity", "event-types", "notifications", "help"),
      ["endpoint", `endpoints/${ids["refusing"]}`],
      ["message", `messages/${ids["event"]}`],
    ],
  };
}

async function delivered(call: Call): Promise<void> {
  await eventually("the end of all deliveries", {
    ask: () => call("GET", "/v1/deliveries?status=pending"),
    holds: ({ data }) => (data as readonly unknown[]).length === 0,
  });
}

async function take(context: BrowserContext, url: string, name: string): Promise<void> {
  if (!name.includes(other)) return;
  const page = await opened(context, url);
  const path = join(folder, `${name.replaceAll("/", "-")}.png`);
  const picture = await page.screenshot({ path, fullPage: true, animations: "disabled", caret: "hide" });
  const hash = hashOf(picture.toString("base64"));
  assert.ok(!hashes.has(hash), `${path} looks like another page: is there a session?`);
  hashes.add(hash);
  await page.close();
}

async function opened(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  await page.clock.setFixedTime(now + 60_000);
  await page.goto(url);
  await page.locator("h1").first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Log in" }).count(), 0, `${url} shows the login`);
  await page.locator(".waiting").first().waitFor({ state: "detached" });
  await page.waitForLoadState("load");
  return page;
}

// ---- comparing ---------------------------------------------------------------------------------------------------

async function compareAll(on: Browser): Promise<void> {
  const names = [...new Set([...readdirSync(folder), ...readdirSync(other)])].filter((name) =>
    name.endsWith(".png"),
  );
  const page = await on.newPage();
  let different = 0;
  for (const name of names.toSorted()) {
    const [before, after] = [readPicture(folder, name), readPicture(other, name)];
    if (before !== null && after !== null && hashOf(before) === hashOf(after)) continue;
    const found =
      before === null || after === null ? "missing on one side" : await pixels(page, before, after);
    if (found === "0 pixels differ") continue;
    different += 1;
    process.stdout.write(`${name}: ${found}\n`);
  }
  process.stdout.write(`${different} of ${names.length} pictures differ\n`);
  process.exitCode = different === 0 ? 0 : 1;
}

function readPicture(place: string, name: string): string | null {
  return readdirSync(place).includes(name) ? readFileSync(join(place, name)).toString("base64") : null;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Chromium decodes the images, because the project has no package that does. */
function pixels(page: Page, before: string, after: string): Promise<string> {
  return page.evaluate<string>(`(async () => {
    const read = async (base64) => {
      const image = new Image();
      image.src = "data:image/png;base64," + base64;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
      canvas.drawImage(image, 0, 0);
      return canvas.getImageData(0, 0, image.width, image.height);
    };
    const [one, other] = [await read("${before}"), await read("${after}")];
    if (one.width !== other.width || one.height !== other.height)
      return one.width + "x" + one.height + " is now " + other.width + "x" + other.height;
    let count = 0;
    for (let at = 0; at < one.data.length; at += 4) {
      const channels = [0, 1, 2].map((channel) => Math.abs(one.data[at + channel] - other.data[at + channel]));
      if (Math.max(...channels) > ${channelDifferenceMax}) count += 1;
    }
    return count + " pixels differ";
  })()`);
}
