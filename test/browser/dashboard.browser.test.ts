/**
 * The dashboard in Chromium, with a real server and a real receiver. Later tests depend on earlier ones: the server
 * starts empty, and its data accumulates.
 */
import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { after, before, suite, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { Receiver } from "../peers/receiver.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";
import type { PosthornProcess } from "../scenarios/posthorn-process.fixture.ts";
import { bringAxe, forAxe, judge } from "./axe.fixture.ts";
import { assertClean, goWithin, watch } from "./browser.fixture.ts";
import { DashboardWorld } from "./dashboard-world.fixture.ts";

/** Polling interval of a page without a stream, in milliseconds. */
const refreshMs = 5_000;
/** Simulates that the user returns to the window. */
const lookAgain = "dispatchEvent(new Event('visibilitychange'))";

const hostile = `</script><script>document.title="owned"</script><img src=x onerror="document.title='owned'"> \u202e\u0007 javascript:alert(1)`;

suite("the dashboard", () => {
  let world: DashboardWorld;
  let server: PosthornProcess;
  let receiver: Receiver;
  let browser: Browser;
  /** A browser context that is logged in as the administrator. */
  let context: BrowserContext;

  before(async () => {
    world = await DashboardWorld.open({ POSTHORN_BASE_PATH: "/prefix" });
    ({ server, receiver, browser, context } = world);
  });
  after(() => world?.close());

  const publish = async (data: unknown, type = "order.completed"): Promise<string> => {
    const { body } = await server.call("POST", "/v1/events", { event_type: type, data });
    return (body as { readonly id: string }).id;
  };
  const visit = (path: string, on = context): Promise<Page> => world.visit(path, on);

  test("a link logs in once and is rejected the second time; the code is removed from the address", async () => {
    const { body } = await server.call("POST", "/ui/login-codes");
    const link = `${server.url}/${(body as { readonly path: string }).path}`;
    const [mine, theirs] = [await browser.newContext(), await browser.newContext()];
    const page = await mine.newPage();
    const seen = watch(page, { origin: server.url });
    await page.goto(link);
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(page.url(), `${server.url}/ui/`);
    assert.equal(
      await page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length"),
      0,
    );
    assertClean(seen);

    const second = await theirs.newPage();
    await second.goto(link);
    await second.getByText(/was already used/).waitFor();
    await second.getByLabel("API key").fill("wrong");
    await second.keyboard.press("Enter");
    await second.getByText(/unknown, expired or revoked/).waitFor();
    await second.getByLabel("API key").fill(server.adminKey);
    await second.keyboard.press("Enter");
    await second.getByRole("heading", { name: "Overview" }).waitFor();
    await Promise.all([mine.close(), theirs.close()]);
  });

  test("the document contains the page's head, and names every script that the page starts with", async () => {
    const still = await browser.newContext({ javaScriptEnabled: false });
    const bare = await still.newPage();
    const seen = watch(bare, { origin: server.url });
    await bare.goto(`${server.url}/ui/deliveries/1`);
    await bare.getByRole("banner").getByText("Posthorn", { exact: true }).waitFor();
    assertClean(seen);
    await still.close();
    const page = await visit("");
    const named = await page.evaluate<readonly string[]>(
      "[...document.querySelectorAll('link[rel=modulepreload], script[src]')].map((one) => one.href || one.src).sort()",
    );
    const loaded = await page.evaluate<readonly string[]>(
      "performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js')).sort()",
    );
    assert.ok(named.length > 1);
    assert.deepEqual(loaded, named, "each is loaded once, and none has to be found in another");
    await page.close();
  });

  test("an empty server explains how to publish, and the first delivery appears without a reload", async () => {
    const page = await visit("");
    const seen = watch(page, { origin: server.url });
    await page.getByText("No events published yet").waitFor();
    const command = page.locator("pre", { hasText: "publish order.completed" }).first();
    assert.ok((await command.textContent())?.includes(`--url ${server.url}`), "for this very server");
    await server.call("POST", "/v1/webhooks", { url: receiver.url("/works"), events: ["*"] });
    await publish({ order_id: "4711" });
    const row = page.getByRole("row", { name: /order\.completed Accepted/ });
    await row.waitFor();
    assert.equal(await page.getByText("No events published yet").count(), 0);
    assertClean(seen);
    await page.close();
  });

  test("foreign content is shown as text, digit for digit, and pages contact no other server", async () => {
    receiver.script(({ path }) => (path === "/hostile" ? { status: 422, body: hostile } : { status: 200 }));
    await server.call("POST", "/v1/webhooks", {
      url: receiver.url("/hostile"),
      events: ["hostile.*"],
      description: hostile.replace("\u0007", ""),
    });
    const number = "90071992547409931.10";
    const raw = `{"event_type":"hostile.sent","data":{"text":${JSON.stringify(hostile)},"number":${number},"b":1,"a":2}}`;
    const response = await fetch(`${server.url}/v1/events`, {
      method: "POST",
      headers: { "authorization": `Bearer ${server.adminKey}`, "content-type": "application/json" },
      body: raw,
    });
    assert.equal(response.status, 202);
    const page = await visit("deliveries?status=exhausted");
    const seen = watch(page, { origin: server.url });
    await page.getByRole("link", { name: "hostile.sent" }).first().waitFor();
    const file = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export as CSV" }).click();
    const lines = (await text(await (await file).createReadStream())).split("\r\n");
    assert.match(lines[0] ?? "", /^delivery,event,event type,webhook/);
    assert.match(lines[1] ?? "", /,hostile\.sent,.+,exhausted,permanent_client_error_422,1,422,/);
    assert.deepEqual(lines.slice(2), [""], "what the list is narrowed to");
    await page.getByRole("link", { name: "hostile.sent" }).first().click();
    const payload = page.getByRole("region", { name: "Data" });
    await payload.waitFor();
    const shown = (await payload.textContent()) ?? "";
    assert.ok(shown.includes(number), shown);
    assert.ok(shown.indexOf('"b"') < shown.indexOf('"a"'), "in the order of the publisher");
    assert.ok(shown.includes("\\u202e"), "a character that turns text around is shown as what it is");
    assert.ok(
      (await page.getByRole("region", { name: /Response body/ }).textContent())?.includes("<img src=x"),
    );
    assert.match(await page.title(), /Posthorn$/);
    assert.equal(await page.locator("main img, main script").count(), 0);
    await page
      .getByRole("link", { name: /127\.0\.0\.1:\d+\/hostile/ })
      .first()
      .click();
    await page.getByRole("heading", { name: /hostile/ }).waitFor();
    assertClean(seen);
    await page.close();
  });

  test("by keyboard only: find the failing delivery, why it waits, and retry it after the fix", async () => {
    let isBroken = true;
    receiver.script(({ path }) => ({
      status: path === "/broken" && isBroken ? 503 : 200,
      body: "maintenance",
    }));
    await server.call("POST", "/v1/webhooks", { url: receiver.url("/broken"), events: ["invoice.*"] });
    await publish({ invoice: 1 }, "invoice.paid");
    const page = await visit("");
    const seen = watch(page, { origin: server.url });
    await page.getByText("last response was 503", { exact: false }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await page.getByRole("heading", { name: "Deliveries", level: 1 }).waitFor();
    await page.getByRole("row", { name: /invoice\.paid Retrying/ }).waitFor();
    for (let presses = 0; !(await focusedRow(page)).includes("Retrying"); presses += 1) {
      assert.ok(presses < 10, "the row was not reached");
      await page.keyboard.press("j");
    }
    await page.keyboard.press("Enter");
    await page.getByText("The next retry is scheduled", { exact: false }).waitFor();
    isBroken = false;
    await page.keyboard.press("r");
    assert.equal(await focused(page), "Retry now");
    const before = page.url();
    await page.keyboard.press("Enter");
    await page.getByText("The receiver accepted the delivery.").waitFor();
    assert.equal(page.url(), before, "the delivery keeps its page");
    await page.getByText(/^retried/).waitFor();
    await page.getByText("Attempt 2 of 2").waitFor();
    await page.getByRole("button", { name: "Previous" }).click();
    await page.getByText("Attempt 1 of 2").waitFor();
    await page.getByLabel("Compare with").selectOption({ label: "last accepted by this webhook" });
    const differences = page.getByRole("table", { name: "Differences" });
    await differences.getByRole("row", { name: "Status 503 200" }).waitFor();
    assert.equal(await differences.getByRole("row", { name: /Response body/ }).count(), 0);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("dialog").count(), 0);
    assertClean(seen);
    await page.close();
  });

  test("the address contains the filters: another browser shows the same, and Back works", async () => {
    const page = await visit("deliveries?colour=blue");
    await page.getByLabel("Dead letter", { exact: true }).check();
    await page.waitForURL(/status=exhausted/);
    await page.getByRole("textbox", { name: "Event type" }).fill("hostile.*");
    await page.keyboard.press("Enter");
    await page.waitForURL(/event_type=hostile/);
    const address = page.url();
    assert.ok(address.includes("colour=blue"), "what it does not know stays");
    const rows = page.locator("tbody tr");
    await rows.first().waitFor();
    await page.waitForFunction("document.querySelectorAll('tbody tr').length === 1");
    const other = await world.logIn();
    const same = await visit(address.slice(`${server.url}/ui/`.length), other);
    assert.equal(await same.getByLabel("Dead letter", { exact: true }).isChecked(), true);
    assert.equal(await same.locator("tbody tr").count(), 1);
    await page.goBack();
    await page.waitForURL(({ search }) => !search.includes("event_type"));
    assert.equal(await page.getByRole("textbox", { name: "Event type" }).inputValue(), "");
    await other.close();
    await page.close();
  });

  test("rows being read stay; new ones wait, and pausing stops every request", async () => {
    for (let count = 0; count < 10; count += 1) await publish({ count }, "order.created");
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(`${server.url}/ui/deliveries?event_type=order.created`);
    const rows = page.locator("tbody tr");
    await rows.nth(9).waitFor();
    const first = await rows.first().getAttribute("data-row");
    await publish({ count: 10 }, "order.created");
    await page.clock.runFor(refreshMs);
    const waiting = page.getByRole("button", { name: "1 new" });
    await waiting.waitFor();
    assert.equal(await rows.first().getAttribute("data-row"), first);
    await waiting.click();
    await rows.nth(10).waitFor();
    await page.keyboard.press(".");
    await page.getByRole("button", { name: /Paused/ }).waitFor();
    let requests = 0;
    page.on("request", () => (requests += 1));
    await page.evaluate(lookAgain);
    await page.clock.runFor(20 * refreshMs);
    assert.equal(requests, 0);
    await page.keyboard.press(".");
    await page.clock.runFor(refreshMs);
    assert.notEqual(requests, 0);
    await page.close();
  });

  test("the request of an attempt is shown byte for byte, and in hex", async () => {
    const page = await visit("deliveries?event_type=order.created&status=success");
    await page.locator("tbody th a").first().click();
    await page.getByRole("button", { name: "Show request" }).click();
    const head = page.getByRole("region", { name: "Request line and headers" });
    await head.getByText(/^POST http:\/\/127\.0\.0\.1.+\/works/).waitFor();
    const body = page.getByRole("region", { name: "Request body" });
    await body.getByText("order.created").first().waitFor();
    await page.getByLabel("hex", { exact: true }).check();
    await body.getByText(/^000000 {2}7b 22/).waitFor();
    const before = page.url();
    await page.getByRole("button", { name: "Retry with high priority" }).click();
    await page.waitForURL((url) => url.href !== before);
    await page.getByText("high", { exact: true }).first().waitFor();
    assert.equal(await page.getByRole("button", { name: "Retry with high priority" }).count(), 0);
    await page.close();
  });

  test("updates arrive by a stream while no timer of the page runs, and a paused page closes it", async () => {
    // A clock that was stopped stays stopped for all pages of its browser context.
    const own = await world.logIn();
    const page = await own.newPage();
    await page.clock.install();
    await page.goto(`${server.url}/ui/deliveries?event_type=order.streamed`);
    await page.getByText("No matching deliveries.").waitFor();
    await page.getByRole("button", { name: /^Live/ }).waitFor();
    await page.clock.pauseAt(Date.now() + 60_000);
    await publish({}, "order.streamed");
    // Rendering also uses timers. They need much less time than the polling interval.
    const row = page.locator("tbody tr").first();
    await eventually("the row", {
      ask: () => page.clock.runFor(10).then(() => row.count()),
      holds: (count) => count === 1,
    });
    const ended = page.waitForEvent("requestfailed", (request) => request.url().includes("/v1/stream"));
    await page.keyboard.press(".");
    await ended;
    await own.close();
  });

  test("figures of the overview are updated by the stream, without polling", async () => {
    const own = await world.logIn();
    const page = await own.newPage();
    await page.clock.install();
    // A fixed time range, which is not refreshed automatically.
    await page.goto(`${server.url}/ui/?from=${new Date(Date.now() - 3_600_000).toISOString()}`);
    const tile = page.locator(".tile", { has: page.getByRole("heading", { name: "Requests accepted" }) });
    await tile.waitFor();
    await page.getByRole("button", { name: /^Live/ }).waitFor();
    await page.clock.pauseAt(Number(await page.evaluate("Date.now()")) + 1_000);
    const counted = async () => {
      const { body } = await server.call("GET", "/v1/stats/deliveries?measures=attempts");
      const { series } = body as { readonly series: readonly { readonly totals: { attempts: number } }[] };
      return series[0]?.totals.attempts ?? 0;
    };
    const before = await counted();
    await publish({}, "order.counted");
    const count = await eventually("it is counted", { ask: counted, holds: (now) => now > before });
    // Each check advances the page's clock slightly. All checks together advance it by less than a polling interval.
    let leftMs = 10_000;
    await eventually("the figure", {
      ask: async () => {
        const stepMs = Math.min(leftMs, 20);
        leftMs -= stepMs;
        await page.clock.runFor(stepMs);
        return Number(/ of ([\d,]+);/.exec(await tile.innerText())?.[1]);
      },
      holds: (figure) => figure >= count,
    });
    await own.close();
  });

  test("while paused, the overview sends no requests, even if its range has moved", async () => {
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(`${server.url}/ui/`);
    await page.locator(".tile").first().waitFor();
    await page.keyboard.press(".");
    await page.getByRole("button", { name: /Paused/ }).waitFor();
    // The initial requests and the requests that they triggered are complete, and the stream is closed.
    await page.waitForLoadState("networkidle");
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.clock.runFor(180_000);
    assert.deepEqual(asked, []);
    await page.keyboard.press(".");
    await page.clock.runFor(refreshMs);
    assert.notEqual(asked.length, 0);
    await page.close();
  });

  test("without a stream the page says so and polls; it tries the stream again", async () => {
    const page = await context.newPage();
    let streams = 0;
    page.on("request", (request) => {
      if (request.url().includes("/v1/stream?")) streams += 1;
    });
    // The response is withheld, as a buffering proxy would do: the page receives neither data nor an error.
    await page.route("**/v1/stream?**", () => undefined);
    await page.clock.install();
    await page.goto(`${server.url}/ui/deliveries?event_type=order.polled`);
    await page.getByText("No matching deliveries.").waitFor();
    await page.getByRole("button", { name: /^Polling/ }).waitFor();
    await publish({}, "order.polled");
    await page.clock.runFor(refreshMs);
    await page.locator("tbody tr").first().waitFor();
    const again = page.waitForRequest(/\/v1\/stream\?/);
    await page.clock.runFor(30_000);
    await again;
    assert.equal(streams, 2);
    await page.getByRole("button", { name: /^Polling/ }).waitFor();
    await page.close();
  });

  test("when the server does not respond, the old data stays, with its age", async () => {
    const page = await visit("deliveries");
    await page.route("**/v1/deliveries?**", (route) => route.abort());
    await page.evaluate(lookAgain);
    await page.getByText(/The server did not respond\. Showing data from/).waitFor();
    assert.ok((await page.locator("tbody tr").count()) > 0);
    await page.unroute("**/v1/deliveries?**");
    await page.evaluate(lookAgain);
    await page.getByText("The server did not respond").waitFor({ state: "detached" });
    const body = '{"detail":"The session has ended. Log in again.","code":"unauthenticated"}';
    await page.route("**/v1/deliveries?**", (route) =>
      route.fulfill({ status: 401, contentType: "application/problem+json", body }),
    );
    await page.evaluate(lookAgain);
    await page.getByRole("dialog", { name: "Session ended" }).waitFor();
    assert.ok(page.url().endsWith("/ui/deliveries"), "the address stays for after the login");
    await page.close();
  });

  test("everything works below the prefix of a proxy", async () => {
    const page = await visit("../prefix/ui/deliveries?status=exhausted");
    const seen = watch(page, { origin: `${server.url}/prefix` });
    await page.getByRole("link", { name: "hostile.sent" }).first().click();
    await page.getByRole("region", { name: "Data" }).waitFor();
    assert.ok(page.url().startsWith(`${server.url}/prefix/ui/deliveries/`));
    await page.reload();
    await page.getByRole("region", { name: "Data" }).waitFor();
    assertClean(seen);
    await page.close();
  });

  test("a read-only key sees no button that changes something", async () => {
    const { body } = await server.call("POST", "/v1/api-keys", {
      name: "reader",
      role: "read",
      tenant_id: "default",
    });
    const reader = await world.logInAs((body as { readonly key: string }).key);
    const page = await visit("dead-letters", reader);
    await page.getByRole("row", { name: /hostile/ }).waitFor();
    assert.equal(await page.getByRole("button", { name: /Retry/ }).count(), 0);
    assert.equal(await page.getByRole("link", { name: "Tenants" }).count(), 0);
    await page.getByRole("link", { name: "hostile.sent" }).click();
    await page.getByRole("heading", { name: "Attempts" }).waitFor();
    assert.equal(await page.getByRole("button", { name: /Retry|circuit|Enable/ }).count(), 0);
    await server.call("PUT", "/v1/event-types/hostile.sent", { schema: { type: "object" } });
    for (const [path, known] of [
      ["event-types/hostile.sent", "Schema"],
      ["tenants/default", "Limits"],
    ] as const) {
      await goWithin(page, `/ui/${path}`);
      await page.getByRole("heading", { name: known, exact: true }).waitFor();
      await page
        .getByRole("region", { name: /^(About this event type|Limits)$/ })
        .getByText("Deliveries")
        .waitFor();
      assert.equal(await page.getByRole("link", { name: "Edit" }).count(), 0);
      assert.equal(await page.getByRole("button", { name: "Deprecate" }).count(), 0);
    }
    await reader.close();
  });

  test("axe finds nothing on any page, light and dark, wide and narrow", async () => {
    await server.call("PUT", "/v1/event-types/order.completed", {
      description: "Paid.",
      schema: { type: "object" },
    });
    const idOf = async (path: string) => {
      const { body } = await server.call("GET", path);
      return (body as { readonly data: readonly { readonly id: string }[] }).data[0]?.id ?? "";
    };
    const failed = await idOf("/v1/deliveries?status=exhausted");
    const pages: readonly (readonly [string, string | RegExp])[] = [
      ["", "Overview"],
      ["deliveries", "Deliveries"],
      [`deliveries/${failed}`, /^hostile\.sent to/],
      ["events", "Events"],
      [`events/${await idOf("/v1/events")}`, /^\w+\.\w+$/],
      ["webhooks", "Webhooks"],
      ["webhooks?sort=backlog", "Webhooks"],
      [`webhooks/${await idOf("/v1/webhooks")}`, /127\.0\.0\.1/],
      [`webhooks/${await idOf("/v1/webhooks")}?tab=timeline`, /127\.0\.0\.1/],
      [`webhooks/${await idOf("/v1/webhooks")}?tab=revisions`, /127\.0\.0\.1/],
      ["problems", "Problems"],
      [`problems/${await idOf("/v1/problems")}`, /^422/],
      ["dead-letters", "Dead letters"],
      ["event-types", "Event types"],
      ["event-types/order.completed", "order.completed"],
      ["tenants", "Tenants"],
      ["tenants/default", /default/i],
      ["portal", "Portal"],
      ["audit", "Audit log"],
      ["system", "System"],
      ["nowhere", "Page not found"],
    ];
    const looks = await world.logIn(forAxe);
    const page = await visit("", looks);
    await bringAxe(page);
    for (const [path, heading] of pages) {
      await goWithin(page, `/ui/${path}`);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      await page.locator(".waiting").first().waitFor({ state: "detached" });
      await judge(page, path);
    }
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("API key").waitFor();
    await judge(page, "login");
    await looks.close();
  });
});

async function focused(page: Page): Promise<string> {
  return String(await page.evaluate("document.activeElement?.textContent ?? ''"));
}

async function focusedRow(page: Page): Promise<string> {
  return String(await page.evaluate("document.activeElement?.closest('tr')?.textContent ?? ''"));
}
