// `node scripts/with-runtime.mjs scripts/screenshots.ts`: takes screenshots of the dashboard for docs/images/, from a
// server that delivers to receivers that accept, fail and refuse.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { loggedIn, openBrowser } from "../test/browser/browser.fixture.ts";
import { type Receiver, startReceiver } from "../test/peers/receiver.ts";
import { eventually } from "../test/scenarios/eventually.fixture.ts";
import { PosthornProcess, serverUnderTest } from "../test/scenarios/posthorn-process.fixture.ts";
import { fillGateway } from "./gateway-pictures.ts";
import { projectRoot } from "./source-files.ts";

const folder = process.argv[2] ?? join(projectRoot, "docs", "images");
/** Takes only screenshots whose names contain this. */
const only = process.argv[3] ?? "";
/**
 * The dashboard pages show an hour of data, which takes most of a minute to create. The gateway pages do not need it.
 */
const isOfDashboard = !only.startsWith("gateway");

/** The length of one minute on the server's clock while that clock runs fast, in milliseconds of real time. */
const minuteMs = 60_000 / 90;

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly colorScheme: "light" | "dark";
  readonly size: { readonly width: number; readonly height: number };
  /** Actions before the screenshot is taken. */
  readonly act?: (page: Page) => Promise<unknown>;
}

const wide = { width: 1280, height: 800 };
const narrow = { width: 360, height: 740 };

const { POSTHORN_EGRESS_ALLOW, POSTHORN_EGRESS_ALLOW_HTTP } = serverUnderTest;
const startedAt = performance.now();
const server = await PosthornProcess.start({
  env: {
    POSTHORN_EGRESS_ALLOW,
    POSTHORN_EGRESS_ALLOW_HTTP,
    ...(isOfDashboard && {
      NODE_OPTIONS: `--import ${pathToFileURL(join(import.meta.dirname, "clock-from-past.mjs")).href}`,
    }),
  },
});
const receiver = await startReceiver();
const browser = await openBrowser();
try {
  mkdirSync(folder, { recursive: true });
  await takePicture(browser, {
    name: "dashboard-first-run",
    path: "",
    colorScheme: "light",
    size: { width: 1280, height: 560 },
  });
  if (isOfDashboard)
    for (const picture of picturesOf(await fill(receiver))) await takePicture(browser, picture);
  for (const picture of await gatewayPictures(receiver)) await takePicture(browser, picture);
} finally {
  await browser.close();
  await receiver.close();
  await server.remove();
}

interface Filled {
  readonly failingDelivery: string;
  readonly failingWebhook: string;
  readonly event: string;
  readonly problem: string;
}

function picturesOf({ failingDelivery, failingWebhook, event, problem }: Filled): readonly Picture[] {
  const light = { colorScheme: "light", size: wide } as const;
  const dark = { colorScheme: "dark", size: wide } as const;
  const small = { colorScheme: "light", size: narrow } as const;
  return [
    { name: "dashboard-overview", path: "", ...light },
    { name: "dashboard-overview-dark", path: "", ...dark },
    { name: "dashboard-deliveries", path: "deliveries", ...light },
    { name: "dashboard-delivery", path: `deliveries/${failingDelivery}`, ...light },
    { name: "dashboard-panel-dark", path: `deliveries?panel=${failingDelivery}`, ...dark },
    { name: "dashboard-selection", path: "deliveries?range=1h", ...light, act: openRange },
    { name: "dashboard-event", path: `events/${event}`, ...light },
    { name: "dashboard-webhook-dark", path: `webhooks/${failingWebhook}`, ...dark },
    { name: "dashboard-webhooks", path: "webhooks", ...light },
    { name: "dashboard-problem", path: `problems/${problem}`, ...light },
    { name: "dashboard-audit-dark", path: "audit", ...dark },
    { name: "dashboard-operation", path: "dead-letters", ...light, act: retryDeadLetters },
    { name: "dashboard-system", path: "system", ...light },
    { name: "dashboard-palette-dark", path: "deliveries", ...dark, act: openPalette },
    { name: "dashboard-narrow", path: `deliveries/${failingDelivery}`, ...small },
  ];
}

async function gatewayPictures(to: Receiver): Promise<readonly Picture[]> {
  const { rejected } = await fillGateway(server, to);
  const light = { colorScheme: "light", size: wide } as const;
  const dark = { colorScheme: "dark", size: wide } as const;
  return [
    { name: "gateway-sources", path: "sources", ...light, size: { width: 1280, height: 480 } },
    { name: "gateway-add-source", path: "sources/new", ...light },
    { name: "gateway-requests", path: `requests?panel=${rejected}`, ...dark },
  ];
}

async function openRange(page: Page): Promise<void> {
  await page.locator("tbody th a").first().focus();
  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.getByRole("button", { name: /Time range/ }).click();
}

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.keyboard.type("erp");
  await page
    .getByRole("option", { name: /erp/ })
    .first()
    .waitFor({ timeout: 2_000 })
    .catch(() => undefined);
}

/** Navigates to the page of the operation. */
async function retryDeadLetters(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Retry…" }).first().click();
  await page.getByLabel("Deliveries per second").fill("1");
  await page.getByRole("button", { name: /^Retry \d/ }).click();
  await page.waitForURL(/operations\//);
  await settled(page);
  await sleep(4_000);
}

async function takePicture(on: Browser, picture: Picture): Promise<void> {
  const { name, path, colorScheme, size, act } = picture;
  if (!name.includes(only)) return;
  const context = await loggedIn(
    on,
    { url: server.url, key: server.adminKey },
    { colorScheme, viewport: size, locale: "en-GB", timezoneId: "UTC" },
  );
  const page = await context.newPage();
  await page.goto(`/ui/${path}`);
  await settled(page);
  await act?.(page);
  await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
  await context.close();
}

async function settled(page: Page): Promise<void> {
  await page.locator("h1").waitFor();
  await page.locator(".waiting").first().waitFor({ state: "detached" });
}

/** Webhooks of a shop: one that works, one that is down, one that refuses, and one that was disabled. */
async function fill(to: Receiver): Promise<Filled> {
  to.script(({ path }) => {
    if (path.startsWith("/erp")) {
      const body = '{"error":"maintenance","since":"2026-11-22T20:04:11Z","ticket":90071992547409931}';
      return { status: 503, headers: { "content-type": "application/json" }, body };
    }
    if (path.startsWith("/crm")) return { status: 422, body: '{"error":"customer_id is unknown"}' };
    return { status: 200, body: "ok" };
  });
  const subscribe = async (path: string, more: object) => {
    const { body } = await server.call("POST", "/v1/webhooks", { url: to.url(path), ...more });
    return (body as { readonly id: string }).id;
  };
  await subscribe("/shop/hooks", { events: ["*"], description: "Shop backend" });
  const failingWebhook = await subscribe("/erp/orders", { events: ["order.*"], description: "ERP import" });
  await subscribe("/crm/customers", { events: ["customer.*"] });
  const disabled = await subscribe("/legacy/in", { events: ["invoice.*"] });
  await server.call("POST", `/v1/webhooks/${disabled}/disable`, {});
  const types = ["order.created", "order.completed", "invoice.paid", "customer.updated", "shipment.sent"];
  let index = 0;
  // Publishes events until the server's clock has caught up, with increasing load.
  for (let minutes = 0; minutes < 59; minutes = (performance.now() - startedAt) / minuteMs) {
    const count = 4 + Math.round(3 * Math.sin(minutes / 6) + minutes / 12);
    for (let left = count; left > 0; left -= 1, index += 1) {
      await server.call("POST", "/v1/events", {
        event_type: types[index % types.length],
        data: { order_id: String(4711 + index), total: 19.9, currency: "EUR", reference: `R-${index}` },
        idempotency_key: `shop-${4711 + index}`,
      });
    }
    await sleep(minuteMs / 2);
  }
  const failing = await eventually("a failing delivery", {
    ask: async () => {
      const { body } = await server.call("GET", `/v1/deliveries?webhook_id=${failingWebhook}&attempt_min=2`);
      return (body as { readonly data: readonly { readonly id: string; readonly event_id: string }[] }).data;
    },
    holds: (rows) => rows.length > 0,
  });
  const { id = "", event_id: event = "" } = failing[0] ?? {};
  const { body: problems } = await server.call("GET", "/v1/problems?state=open&state=recovering");
  const problem = (problems as { readonly data: readonly { readonly id: string }[] }).data[0]?.id ?? "";
  return { failingDelivery: id, failingWebhook, event, problem };
}
