/** Creating, updating and fixing webhooks in the dashboard, in Chromium with one real server. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { resolvesWith } from "../../src/features/problems/problem.ts";
import type { Receiver } from "../peers/receiver.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";
import type { PosthornProcess } from "../scenarios/posthorn-process.fixture.ts";
import { bringAxe, forAxe, judge } from "./axe.fixture.ts";
import { assertClean, watch } from "./browser.fixture.ts";
import { DashboardWorld } from "./dashboard-world.fixture.ts";

suite("webhooks in the dashboard", () => {
  let world: DashboardWorld;
  let server: PosthornProcess;
  let receiver: Receiver;
  let context: BrowserContext;
  let webhookId: string;
  let isBroken = true;

  before(async () => {
    // No mail server listens at this address, so no email is sent.
    const mail = { POSTHORN_SMTP_URL: "smtp://127.0.0.1:9", POSTHORN_MAIL_FROM: "Webhooks <w@example.com>" };
    world = await DashboardWorld.open(mail);
    ({ server, receiver, context } = world);
    receiver.script(({ path }) => ({ status: path === "/moved" && isBroken ? 422 : 200 }));
  });
  after(() => world?.close());

  const visit = (path: string, on = context): Promise<Page> => world.visit(path, on);
  const stored = async () => {
    const { body } = await server.call("GET", `/v1/webhooks/${webhookId}`);
    return body as { readonly description: string; readonly rate_limit: unknown; readonly headers: object };
  };

  test("problems are shown at their fields; a new secret is shown once, and for 30 seconds", async () => {
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(`${server.url}/ui/webhooks`);
    const seen = watch(page, { origin: server.url });
    await page.getByRole("link", { name: "New webhook" }).click();
    await page.getByRole("heading", { level: 1, name: "New webhook" }).waitFor();
    const url = page.getByLabel("URL", { exact: true });
    await url.fill("not a url");
    await page.getByLabel("Event types").fill("order.*");
    await page.keyboard.press("Enter");
    await page.getByText(/^URL .+\.$/).waitFor();
    await page.clock.runFor(100);
    assert.equal(await url.getAttribute("aria-invalid"), "true");
    assert.equal(await page.evaluate("document.activeElement?.getAttribute('aria-invalid')"), "true");
    await url.fill(receiver.url("/moved"));
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Webhook created" });
    const secret = (await dialog.locator("code").textContent()) ?? "";
    assert.match(secret, /^wh/);
    await page.clock.runFor(30_000);
    await page.getByText("The secret is hidden.").waitFor();
    assert.ok(!(await page.content()).includes(secret));
    await dialog.getByRole("button", { name: "Open webhook" }).click();
    await page.waitForURL(/\/webhooks\/[0-9a-f-]{36}$/);
    webhookId = page.url().slice(-36);
    assertClean(seen);
    await page.close();
  });

  test("a tenant's page lists its notification channels; a channel is tested, disabled and removed", async () => {
    const path = "/v1/tenants/acme/notifications";
    const channels = async () => {
      const { body } = await server.call("GET", path);
      return (body as { readonly data: readonly Readonly<Record<string, unknown>>[] }).data;
    };
    await server.call("PUT", "/v1/tenants/acme", { name: "Acme" });
    const webhook = { tenant_id: "acme", events: ["order.*"], url: receiver.url("/acme") };
    const made = await server.call("POST", "/v1/webhooks", webhook);
    const about = [(made.body as { readonly id: string }).id];
    const ops = { kind: "webhook", name: "Ops", url: receiver.url("/told?key=1"), webhook_ids: about };
    const ada = { kind: "email", address: "ada@example.com", topics: ["secret_rotated"] };
    const { status } = await server.call("PUT", path, { channels: [ada, ops] });
    assert.equal(status, 200);

    const looks = await world.logIn(forAxe);
    const page = await visit("tenants/acme", looks);
    const seen = watch(page, { origin: server.url });
    const entries = page.getByRole("list", { name: "Channels of this tenant" }).getByRole("listitem");
    const mail = entries.filter({ hasText: "ada@example.com" });
    const own = entries.filter({ hasText: "URL, Ops" });
    await mail.getByText("not confirmed", { exact: true }).waitFor();
    await mail.getByText("topics: secret rotated; all webhooks").waitFor();
    await own.getByRole("link", { name: /\/acme$/ }).waitFor();
    assert.ok(!(await page.content()).includes("key=1"), "what a URL holds may be a secret");
    await bringAxe(page);
    await judge(page, "tenant with channels");
    await page.setViewportSize({ width: 1_280, height: 900 });

    await own.getByRole("button", { name: "Send test" }).click();
    await receiver.waitUntil(() => receiver.requests.some((request) => request.path.startsWith("/told")));
    await own.getByText("healthy", { exact: true }).waitFor();
    await mail.getByRole("button", { name: "Send test" }).click();
    await page
      .getByText(/ada@example.com is not confirmed/)
      .first()
      .waitFor();
    await mail.getByRole("button", { name: "Disable" }).click();
    await mail.getByText("disabled", { exact: true }).waitFor();
    assert.deepEqual(
      (await channels()).map(({ kind, enabled, topics }) => [kind, enabled, topics]),
      [
        ["email", false, ["secret_rotated"]],
        ["webhook", true, ["failing", "disabled"]],
      ],
    );
    await own.getByRole("button", { name: /^Remove/ }).click();
    await page
      .getByRole("dialog", { name: "Remove this channel?" })
      .getByRole("button", { name: "Remove" })
      .click();
    await own.waitFor({ state: "detached" });
    await eventually("what is left of the list has the focus", {
      ask: () => mail.locator(":focus").count(),
      holds: (count) => count === 1,
    });
    await page.locator("#app > [role=status]").getByText("Removed").waitFor();
    assert.deepEqual(
      (await channels()).map(({ kind }) => kind),
      ["email"],
    );
    assertClean(seen);
    await looks.close();
  });

  test("a change sends only changed fields; a collapsed section opens for its problem", async () => {
    const page = await visit(`webhooks/${webhookId}/edit`);
    await page.getByLabel("Description").fill("Shop backend");
    await page.getByText("Limits, order, retries").click();
    await page.getByLabel("Requests per minute").fill("many");
    await page.getByText("Limits, order, retries").click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Requests per minute must be a whole number.").waitFor();
    await page.getByLabel("Requests per minute").fill("600");
    await page.getByLabel("Headers", { exact: true }).fill("X-Shop: berlin");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Gates" }).waitFor();
    const { description, rate_limit, headers } = await stored();
    assert.equal(description, "Shop backend");
    assert.deepEqual(rate_limit, { requests_per_minute: 600, burst: 20 });
    assert.deepEqual(headers, { "X-Shop": "berlin" });
    await page.close();
  });

  test("a secret is rotated with a chosen overlap", async () => {
    const page = await visit(`webhooks/${webhookId}`);
    await page.getByRole("button", { name: "Rotate secret…" }).click();
    await page.getByLabel("Keep signing with the old secret for").selectOption("3600");
    await page.getByRole("button", { name: "Rotate", exact: true }).click();
    const shown = page.getByRole("dialog").locator("code");
    await shown.waitFor();
    const { body } = await server.call("GET", `/v1/webhooks/${webhookId}/secret`);
    const { secret, previous } = body as {
      readonly secret: string;
      readonly previous: { readonly expires_at: string };
    };
    assert.equal(await shown.textContent(), secret);
    const overlapMs = Date.parse(previous.expires_at) - Date.now();
    assert.ok(overlapMs > 3_000_000 && overlapMs <= 3_600_000, String(overlapMs));
    await page.close();
  });

  test("by keyboard only: a problem is found, understood, fixed, recovered, and resolves", async () => {
    await server.call("POST", "/v1/events", { event_type: "order.paid", data: { order: 1 } });
    await eventually("a dead letter", {
      ask: () => server.call("GET", "/v1/dlq"),
      holds: ({ body }) => (body as { readonly data: readonly unknown[] }).data.length === 1,
    });
    const page = await visit("");
    const seen = watch(page, { origin: server.url });
    const pick = async (text: string, option: RegExp) => {
      await page.keyboard.press("Control+k");
      await page.keyboard.type(text);
      await page.getByRole("option", { name: option }).first().waitFor();
      await page.keyboard.press("Enter");
    };
    await page.getByText("1 dead letter.", { exact: false }).first().waitFor();
    const openProblem = async () => {
      await page.keyboard.press("g");
      await page.keyboard.press("p");
      await page.getByRole("row", { name: /422/ }).waitFor();
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: /^422/ }).waitFor();
    };
    await openProblem();
    await page.getByText("Check the response", { exact: false }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("l");
    await page.getByRole("row", { name: /order\.paid 422/ }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByText("The receiver permanently refused the delivery", { exact: false }).waitFor();
    await pick("Shop backend", /moved.*webhook, by description/);
    await page.getByRole("heading", { level: 1, name: /moved/ }).waitFor();
    await page.getByRole("link", { name: "Edit" }).waitFor();
    await pick("edit", /^Edit/);
    await page.getByLabel("URL", { exact: true }).waitFor();
    for (let presses = 0; (await focusedLabel(page)) !== "URL"; presses += 1) {
      assert.ok(presses < 40, "the field was not reached");
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Control+a");
    await page.keyboard.type(receiver.url("/mended"));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /mended/ }).waitFor();
    await page.getByRole("button", { name: "Recover…" }).waitFor();
    await pick("recover", /^Recover…/);
    await page.getByRole("button", { name: "Count" }).waitFor();
    await tabTo(page, "Count");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Recover 1" }).waitFor();
    await tabTo(page, "Recover 1");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await page.getByRole("row", { name: /order\.paid Accepted/ }).waitFor();
    await openProblem();
    await page.getByText("recovering", { exact: true }).first().waitFor();
    for (let order = 2; order <= resolvesWith; order += 1)
      await server.call("POST", "/v1/events", { event_type: "order.paid", data: { order } });
    await page.getByText("resolved", { exact: true }).first().waitFor();
    assertClean(seen);
    await page.close();
    isBroken = false;
  });

  test("a chart has a table, shows its values by keys, and narrows the range of the page", async () => {
    const page = await visit(`webhooks/${webhookId}`);
    const seen = watch(page, { origin: server.url });
    const answer = chartedHour();
    await page.route("**/v1/stats/deliveries?**", (route) => route.fulfill({ json: answer }));
    await page.addInitScript(watchPlots);
    await page.reload();
    const chart = page.getByRole("figure", { name: "Requests" });
    await chart.getByText("9 requests: 66.66 % accepted, 2 failed temporarily, 1 refused.").waitFor();
    await chart.getByText("As table").click();
    await chart.locator("tbody td").first().waitFor();
    assert.deepEqual(await chart.locator("tbody td").allTextContents(), [
      "1",
      "0",
      "0",
      "3",
      "2",
      "0",
      "2",
      "0",
      "1",
    ]);
    assert.match((await chart.locator("tbody th").first().textContent()) ?? "", /so far/);
    assert.equal(await chart.locator(".chart-partial").count(), 3);
    assert.deepEqual(
      await page.evaluate("misfits"),
      [],
      "every drawing is as wide as its box, the first one too",
    );
    const durations = page.getByRole("figure", { name: "Duration" });
    await durations.getByText("As table").click();
    await durations.locator("tbody td").first().waitFor();
    assert.deepEqual(await durations.locator("tbody td").allTextContents(), [
      "5.0 ms",
      "9.0 ms",
      "–",
      "–",
      "20 ms",
      "1.25 s",
    ]);
    const plot = chart.getByRole("group", { name: /arrow keys/ });
    await plot.focus();
    await page.keyboard.press("Home");
    await page.getByRole("status").getByText("accepted 2, failed temporarily 0, refused 1").waitFor();
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForURL(({ searchParams }) => searchParams.get("to") === answer.series[0].points[2].at);
    assert.equal(new URL(page.url()).searchParams.get("from"), answer.series[0].points[0].at);
    await page.goBack();
    const box = await plot.boundingBox();
    assert.ok(box !== null);
    await page.mouse.move(box.x + box.width * 0.25, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 3 });
    await page.mouse.up();
    await page.waitForURL(({ searchParams }) => searchParams.get("to") === answer.series[0].points[2].at);
    assertClean(seen);
    await page.close();
  });

  test("a pause has an end and a reason, both are shown, and it can be ended", async () => {
    const page = await visit(`webhooks/${webhookId}`);
    await page.getByText("No deliveries waiting.").waitFor();
    await page.getByRole("button", { name: "Pause…" }).click();
    await page.getByLabel("Or end time").fill("yesterday");
    await page.getByText("Enter a time in the future.").waitFor();
    await page.getByLabel("Or end time").fill("");
    await page.getByRole("combobox", { name: "Duration" }).selectOption("1 hour");
    await page.getByLabel(/^Reason/).fill("the receiver moves house");
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByText(/until .*: the receiver moves house/).waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("not paused").waitFor();
    await page.getByRole("link", { name: "Security" }).click();
    await page.getByText("not required", { exact: true }).waitFor();
    await page.close();
  });

  test("the end of a session is announced, and a form keeps its input across a new login", async () => {
    const page = await context.newPage();
    const soon = () => new Date(Date.now() + 90_000).toISOString();
    let isNear = true;
    let answered = 0;
    await page.route("**/ui/session", async (route) => {
      if (!isNear || route.request().method() !== "GET") return route.continue();
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), idle_until: soon() } });
      answered += 1;
    });
    await page.goto(`${server.url}/ui/webhooks/new`);
    await page.getByText("The session ends in less than two minutes.", { exact: false }).waitFor();
    // One request reads the logged-in user, the other ends the session.
    await eventually("both answers", { ask: () => Promise.resolve(answered), holds: (count) => count === 2 });
    isNear = false;
    await page.getByRole("button", { name: "Stay logged in" }).click();
    await page.getByText("The session ends in less", { exact: false }).waitFor({ state: "detached" });
    await page.getByLabel("Description").fill("typed before the end");
    await page.getByLabel("URL", { exact: true }).fill(receiver.url("/after"));
    await page.getByLabel("Event types").fill("order.*");
    const body = '{"detail":"The session has ended. Log in again.","code":"unauthenticated"}';
    const over = { status: 401, contentType: "application/problem+json", body };
    await page.route("**/v1/webhooks", (route) => route.fulfill(over));
    await page.getByRole("button", { name: "Create webhook" }).click();
    const dialog = page.getByRole("dialog", { name: "Session ended" });
    await dialog.getByLabel("API key").fill(server.adminKey);
    await page.unroute("**/v1/webhooks");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await page.getByLabel("Description").inputValue(), "typed before the end");
    await page.getByRole("button", { name: "Create webhook" }).click();
    await page.getByRole("dialog", { name: "Webhook created" }).waitFor();
    await page.close();
  });

  test("axe finds nothing in the form, its problems and the dialogs", async () => {
    const looks = await world.logIn(forAxe);
    const page = await visit("webhooks/new", looks);
    await bringAxe(page);
    await page.getByText("Limits, order, retries").click();
    await page.getByLabel("Metadata (JSON)").fill("{");
    await page.getByRole("button", { name: "Create webhook" }).click();
    await page.getByText("Metadata (JSON) is not valid JSON.").waitFor();
    await judge(page, "form with problems");
    await page.goto(`${server.url}/ui/webhooks/${webhookId}`);
    await bringAxe(page);
    for (const name of ["Rotate secret…", "Recover…", "Disable…", "Pause…"]) {
      await page.getByRole("button", { name }).click();
      await judge(page, name);
      await page.keyboard.press("Escape");
    }
    await looks.close();
  });
});

/** Records, in every frame, each chart whose width differs from that of its container. */
const watchPlots = `
  globalThis.misfits = [];
  requestAnimationFrame(function look() {
    for (const drawing of document.querySelectorAll(".plot > svg")) {
      const [drawn, free] = [drawing.width.baseVal.value, drawing.parentElement.getBoundingClientRect().width];
      if (Math.floor(free) !== drawn) misfits.push(drawn + " in " + free);
    }
    requestAnimationFrame(look);
  });
`;

/** Three one-minute points. The middle one has no durations, and the last minute has not ended yet. */
function chartedHour() {
  const start = Date.UTC(2026, 10, 23, 4);
  const at = (minutes: number) => new Date(start + minutes * 60_000).toISOString();
  const point = (minutes: number, ...[accepted, transient, terminal]: readonly number[]) => ({
    at: at(minutes),
    accepted,
    transient,
    terminal,
    attempts: (accepted ?? 0) + (transient ?? 0) + (terminal ?? 0),
  });
  const points = [
    { ...point(0, 2, 0, 1), duration_ms_p50: 20, duration_ms_p95: 1_250 },
    { ...point(1, 3, 2, 0), duration_ms_p50: null, duration_ms_p95: null },
    { ...point(2, 1, 0, 0), duration_ms_p50: 5, duration_ms_p95: 9, partial: true },
  ] as const;
  const totals = {
    attempts: 9,
    accepted: 6,
    transient: 2,
    terminal: 1,
    duration_ms_p50: 9,
    duration_ms_p95: 1_250,
  };
  const series = [{ key: null, points, totals }] as const;
  return { step_seconds: 60, from: at(0), to: at(3), complete_until: at(3), lag_seconds: 0, series };
}

async function focusedLabel(page: Page): Promise<string> {
  return String(await page.evaluate("document.activeElement?.labels?.[0]?.textContent ?? ''"));
}

async function tabTo(page: Page, text: string): Promise<void> {
  for (let presses = 0; ; presses += 1) {
    if ((await page.evaluate("document.activeElement?.textContent ?? ''")) === text) return;
    assert.ok(presses < 40, `${text} was not reached`);
    await page.keyboard.press("Tab");
  }
}
