// The cost of the dashboard on a CPU that is four times slower. Measures the time to first content, the time to the
// next frame after a click with 250 rows, and the CPU time of the page, which depends little on other work. The
// measurements are only reported, because a busy machine would exceed any limit. The test checks that no request leaves
// the origin and that the page violates no policy.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CDPSession, Page } from "playwright-core";
import { assertClean, watch } from "../../browser/browser.fixture.ts";
import { DashboardWorld } from "../../browser/dashboard-world.fixture.ts";
import { eventually } from "../eventually.fixture.ts";

const rows = 250;
const slowedBy = 4;

/**
 * From now on, records every interaction with the time to the next frame. The browser reports only those that take 16
 * ms or more.
 */
const observe = `
  globalThis.interactions = [];
  new PerformanceObserver((list) => {
    for (const { name, duration } of list.getEntries())
      if (["click", "keydown"].includes(name)) globalThis.interactions.push(duration);
  }).observe({ type: "event", durationThreshold: 16, buffered: true });
`;

async function slowest(page: Page): Promise<number> {
  const found = await page.evaluate("globalThis.interactions.splice(0)");
  return Math.max(0, ...(found as readonly number[]));
}

/** CPU time that the page's main thread has used so far, at the reduced speed. */
async function processorMs(devTools: CDPSession): Promise<number> {
  const { metrics } = await devTools.send("Performance.getMetrics");
  return 1_000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0);
}

test("first content and clicks on a processor that is four times slower", async (t) => {
  const world = await DashboardWorld.open();
  t.after(() => world.close());
  const { server, receiver, context } = world;
  receiver.script((_, index) => ({ status: index % 5 === 0 ? 422 : 200 }));
  await server.call("POST", "/v1/webhooks", { url: receiver.url("/"), events: ["order.*"] });
  await Promise.all(
    Array.from({ length: rows }, (_, order) =>
      server.call("POST", "/v1/events", { event_type: "order.paid", data: { order } }),
    ),
  );
  await eventually("all of them have ended", {
    ask: () => server.call("GET", "/v1/deliveries?status=pending&status=failed&limit=1"),
    holds: ({ body }) => (body as { readonly data: readonly unknown[] }).data.length === 0,
  });
  // When the server runs from source, the first request bundles the pages. The package already contains the bundles.
  await fetch(`${server.url}/ui/`);
  for (const path of ["", "deliveries", "webhooks", "problems"]) {
    const page = await context.newPage();
    const seen = watch(page, { origin: server.url });
    const devTools = await context.newCDPSession(page);
    await devTools.send("Emulation.setCPUThrottlingRate", { rate: slowedBy });
    await page.goto(`${server.url}/ui/${path}`);
    await page.locator("h1").waitFor();
    const paint = await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime");
    const heading = await page.evaluate("performance.now()");
    t.diagnostic(
      `/ui/${path}: first content after ${Math.round(Number(paint))} ms, heading within ${Math.round(Number(heading))} ms`,
    );
    assertClean(seen);
    await page.close();
  }
  const page = await context.newPage();
  const seen = watch(page, { origin: server.url });
  await page.goto(`${server.url}/ui/deliveries`);
  await page.locator("tbody tr").first().waitFor();
  while ((await page.locator("tbody tr").count()) < rows) {
    const before = await page.locator("tbody tr").count();
    await page.getByRole("button", { name: "Older" }).click();
    await page.locator("tbody tr").nth(before).waitFor();
  }
  assert.ok((await page.locator("tbody tr").count()) >= rows);
  const devTools = await context.newCDPSession(page);
  await devTools.send("Emulation.setCPUThrottlingRate", { rate: slowedBy });
  await devTools.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.evaluate(observe);
  const actions: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["nothing", () => Promise.resolve()],
    ["selecting a row", () => page.locator("tbody input[type=checkbox]").nth(3).click()],
    ["selecting all", () => page.getByLabel("Select all that are shown").first().click()],
    ["the next row by key", () => page.keyboard.press("j")],
    ["the panel beside the list", () => page.keyboard.press("p")],
    ["closing the panel", () => page.keyboard.press("Escape")],
    ["the palette", () => page.keyboard.press("Control+k")],
    ["a letter in the palette", () => page.keyboard.press("d")],
    ["closing the palette", () => page.keyboard.press("Escape")],
    ["another theme", () => page.getByRole("button", { name: /^Theme/ }).click()],
  ];
  for (const [name, act] of actions) {
    const before = await processorMs(devTools);
    await act();
    // The browser reports an interaction two frames later.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 300)))");
    const used = Math.round((await processorMs(devTools)) - before);
    t.diagnostic(`${name}: ${await slowest(page)} ms to the next picture, ${used} ms of the processor`);
  }
  assertClean(seen);
});
