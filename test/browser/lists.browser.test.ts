/**
 * Lists of deliveries and events, the event page, and forms for event types and tenants, in Chromium with one real
 * server.
 */
import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { after, before, suite, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import type { Receiver } from "../peers/receiver.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";
import type { PosthornProcess } from "../scenarios/posthorn-process.fixture.ts";
import { bringAxe, forAxe, judge } from "./axe.fixture.ts";
import { assertClean, goWithin, watch } from "./browser.fixture.ts";
import { DashboardWorld } from "./dashboard-world.fixture.ts";

suite("lists", () => {
  let world: DashboardWorld;
  let server: PosthornProcess;
  let receiver: Receiver;
  let context: BrowserContext;
  let isRepaired = false;

  before(async () => {
    world = await DashboardWorld.open();
    ({ server, receiver, context } = world);
    receiver.script(({ path }) => ({ status: path === "/refuses" && !isRepaired ? 422 : 200 }));
    await server.call("POST", "/v1/webhooks", { url: receiver.url("/works"), events: ["order.*"] });
    await server.call("POST", "/v1/webhooks", { url: receiver.url("/refuses"), events: ["order.paid"] });
    for (let index = 0; index < 4; index += 1) {
      const event_type = index % 2 === 0 ? "order.paid" : "order.sent";
      await server.call("POST", "/v1/events", { event_type, data: { index }, source: "shop" });
    }
    await server.call("POST", "/v1/events", { event_type: "nobody.asked", data: {}, source: "crm" });
    await eventually("six deliveries that ended", {
      ask: () => server.call("GET", "/v1/deliveries?status=success&status=exhausted"),
      holds: ({ body }) => (body as { readonly data: readonly unknown[] }).data.length === 6,
    });
  });
  after(() => world?.close());

  const visit = (path: string, on = context): Promise<Page> => world.visit(path, on);
  const rowCount = async (page: Page, count: number): Promise<void> => {
    await page.locator("tbody tr").nth(count).waitFor({ state: "detached" });
    await page
      .locator("tbody tr")
      .nth(count - 1)
      .waitFor();
  };

  test("the audit log is filtered by its address and cells, and exported without formulas", async () => {
    const description = "=1+1";
    await server.call("PUT", "/v1/event-types/formula.made", { description });
    const page = await visit("audit?action=event_type");
    const seen = watch(page, { origin: server.url });
    const row = page.getByRole("row", { name: /formula\.made/ });
    await row.waitFor();
    assert.equal(await page.getByLabel("Action", { exact: true }).inputValue(), "event_type");
    assert.match((await row.textContent()) ?? "", /description: =1\+1/);
    const file = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export as CSV" }).click();
    const lines = (await text(await (await file).createReadStream())).split("\r\n");
    assert.match(lines[0] ?? "", /^time,who,role/);
    assert.ok(lines[1]?.includes("formula.made"));
    await page.getByLabel("Who", { exact: true }).fill("nobody");
    await page.keyboard.press("Enter");
    await page.getByText("No matching entries.").waitFor();
    assertClean(seen);
    await page.close();
  });

  test("a relative range stays relative in the address, and a custom range is validated while typing", async () => {
    const page = await visit("deliveries?colour=blue");
    const seen = watch(page, { origin: server.url });
    await page.getByRole("button", { name: "Time range: Any time" }).click();
    await page.getByRole("button", { name: "6 hours" }).click();
    await page.waitForURL(/colour=blue&range=6h$/);
    await page.getByRole("button", { name: "Time range: Last 6 hours" }).click();
    const from = page.getByLabel("From");
    await from.fill("soon");
    assert.equal(await from.getAttribute("aria-invalid"), "true");
    await page.getByText("Enter a valid time.").waitFor();
    await from.fill("now-2h");
    await page.getByLabel("To", { exact: true }).fill("now-3h");
    await page.keyboard.press("Enter");
    await page.getByText("The end must be after the start.").waitFor();
    await from.fill("2020-01-01T10:00:00Z/2020-01-01T11:00:00Z");
    assert.equal(await page.getByLabel("To", { exact: true }).inputValue(), "2020-01-01T11:00:00Z");
    await page.keyboard.press("Enter");
    await page.waitForURL(/from=2020-01-01T10%3A00%3A00Z&to=2020-01-01T11%3A00%3A00Z/);
    await page.getByText("No matching deliveries.").waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Time range: Last 6 hours" }).waitFor();
    await rowCount(page, 6);
    assertClean(seen);
    await page.close();
  });

  test("a cell filters the list by its value or excludes it, by keyboard", async () => {
    const page = await visit("deliveries");
    await rowCount(page, 6);
    await page.keyboard.press("j");
    await page.keyboard.press("ArrowRight");
    const actions = page.getByRole("group", { name: "State: actions" });
    await actions.waitFor();
    const state = (await page.locator("tbody tr").first().locator("td").nth(1).textContent())?.trim() ?? "";
    await actions.getByRole("button", { name: `Exclude ${state}` }).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/status=pending/);
    assert.equal(await page.getByLabel(state, { exact: true }).isChecked(), false);
    await page.goBack();
    await rowCount(page, 6);
    await page
      .getByRole("row", { name: /order\.sent/ })
      .first()
      .getByText("order.sent")
      .hover();
    await page.getByRole("button", { name: "Only order.sent" }).click();
    await rowCount(page, 2);
    await page.close();
  });

  test("columns are in the address; density is stored in the browser", async () => {
    const page = await visit("deliveries");
    await page.getByRole("button", { name: "View" }).click();
    await page.getByLabel("Tenant").check();
    await page.getByLabel("Duration").uncheck();
    await page.getByRole("columnheader", { name: "Tenant" }).waitFor();
    assert.equal(await page.getByRole("columnheader", { name: "Duration" }).count(), 0);
    await page.getByLabel("Compact rows").check();
    const address = page.url();
    await page.reload();
    await page.getByRole("columnheader", { name: "Tenant" }).waitFor();
    assert.match(address, /columns=tenant/);
    assert.equal(await page.evaluate("document.documentElement.dataset.density"), "compact");
    await page.close();
  });

  test("the panel shows the delivery next to the list, follows the keys, and closes with Esc", async () => {
    const page = await visit("deliveries");
    await rowCount(page, 6);
    await page.keyboard.press("j");
    await page.keyboard.press("p");
    const panel = page.getByRole("complementary", { name: "Delivery panel" });
    await panel.getByRole("group", { name: /./ }).or(panel.getByText("Attempt 1 of 1")).first().waitFor();
    const first = new URL(page.url()).searchParams.get("panel");
    await page.keyboard.press("j");
    await page.waitForURL(({ searchParams }) => searchParams.get("panel") !== first);
    const same = await visit(page.url().slice(`${server.url}/ui/`.length));
    await same.getByRole("complementary", { name: "Delivery panel" }).waitFor();
    await same.close();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    assert.equal(new URL(page.url()).searchParams.get("panel"), null);
    assert.equal(await page.evaluate("document.activeElement?.closest('tr') !== null"), true);
    await page.close();
  });

  test("a long list is split into tables of twenty-five rows, which keys pass through; ages grow without a response", async () => {
    const { body } = await server.call("GET", "/v1/deliveries?limit=1&include=webhook");
    const [one] = (body as { readonly data: readonly object[] }).data;
    const startedAt = Date.now();
    const created_at = new Date(startedAt).toISOString();
    const data = Array.from({ length: 120 }, (_, index) => ({ ...one, id: `row-${index}`, created_at }));
    // A clock that was stopped stays stopped for all pages of its browser context.
    const own = await world.logIn();
    const page = await own.newPage();
    await page.clock.install({ time: startedAt });
    await page.route("**/v1/deliveries?**", (route) => route.fulfill({ json: { data, next_cursor: null } }));
    await page.goto(`${server.url}/ui/deliveries`);
    await rowCount(page, 120);
    const tables = await page
      .getByRole("table")
      .evaluateAll((all) =>
        all.map(
          (table) =>
            `${table.querySelector("caption")?.textContent}: ${table.querySelectorAll("tbody tr").length}`,
        ),
      );
    assert.deepEqual(tables, [
      "Deliveries: 25",
      "Deliveries, from row 26 on: 25",
      "Deliveries, from row 51 on: 25",
      "Deliveries, from row 76 on: 25",
      "Deliveries, from row 101 on: 20",
    ]);
    await page.locator("tr[data-row=row-24] th a").focus();
    await page.keyboard.press("j");
    assert.equal(await page.evaluate("document.activeElement?.closest('tr')?.dataset.row"), "row-25");
    await page.getByLabel("Select all shown").nth(1).check();
    await page.getByText("120 selected").waitFor();
    const age = page.locator("tr[data-row=row-25] td").last();
    await page.clock.pauseAt(startedAt + 50_000);
    assert.equal(await age.textContent(), "50s ago");
    await page.clock.runFor(61_000);
    assert.equal(await age.textContent(), "1m ago");
    await own.close();
  });

  test("rows are selected with space and shift, and retried after a preview that names skipped rows", async () => {
    isRepaired = true;
    const page = await visit("deliveries");
    await rowCount(page, 6);
    await page.keyboard.press("j");
    await page.keyboard.press("Space");
    await page.getByText("1 selected").waitFor();
    for (let step = 0; step < 5; step += 1) await page.keyboard.press("j");
    await page.keyboard.press("Shift+Space");
    await page.getByText("6 selected").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByText("selected").waitFor({ state: "detached" });
    await page.getByLabel("Dead letter", { exact: true }).check();
    await rowCount(page, 2);
    await page.getByLabel("Select all shown").check();
    await page.getByRole("button", { name: "Retry…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("2 (exact)").waitFor();
    await dialog.getByRole("list", { name: "Oldest deliveries" }).getByText("order.paid").first().waitFor();
    await dialog.getByRole("button", { name: "Retry 2", exact: true }).click();
    await page.waitForURL(/\/ui\/operations\/[0-9a-f-]{36}$/);
    await page.getByRole("heading", { level: 1, name: "Retry deliveries completed" }).waitFor();
    await page.getByText("2 of 2").first().waitFor();
    await page.getByText("Delivered", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Operations" }).first().click();
    await page.getByRole("row", { name: /Retry deliveries.*completed.*2 of 2/ }).waitFor();
    await page.close();
  });

  test("all matching rows are selected with the range fixed to instants; the preview says what is skipped and why", async () => {
    const page = await visit("deliveries?range=1h");
    await rowCount(page, 6);
    await page.getByLabel("Select all shown").check();
    await page.getByRole("button", { name: "Select all matching" }).click();
    await page.getByText("All 6 matching").waitFor();
    await page.getByRole("button", { name: "Retry…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/from: \d{4}-.+Z; to: \d{4}-.+Z/).waitFor();
    await dialog.getByText("6 deliveries will be skipped: they were accepted.").waitFor();
    await dialog.getByText("Nothing to do.").waitFor();
    await page.close();
  });

  test("events without a receiver are found; an event shows who received it and why others did not", async () => {
    const page = await visit("events");
    await rowCount(page, 5);
    await page.getByLabel("no subscribers").check();
    await rowCount(page, 1);
    await page.getByRole("link", { name: "nobody.asked" }).click();
    await page.getByText("Not subscribed to this event type.").first().waitFor();
    await page.goBack();
    await page.getByLabel("no subscribers").uncheck();
    await page.getByLabel("Source").fill("crm");
    await page.keyboard.press("Enter");
    await page.waitForURL(/source=crm/);
    await rowCount(page, 1);
    await page.close();
  });

  test("an edited copy is published digit for digit; invalid JSON is reported at its field", async () => {
    const page = await visit("events?event_type=order.sent");
    await page.getByRole("link", { name: "order.sent" }).first().click();
    await page.getByRole("button", { name: "Publish a copy…" }).click();
    const data = page.getByLabel("Data (JSON)");
    await data.fill("{");
    await page.getByRole("button", { name: "Publish", exact: true }).click();
    assert.equal(await data.getAttribute("aria-invalid"), "true");
    await data.fill('{"big":90071992547409931.10}');
    const before = page.url();
    await page.getByRole("button", { name: "Publish", exact: true }).click();
    await page.waitForURL((url) => url.href !== before);
    await page.getByRole("region", { name: "Data" }).getByText("90071992547409931.10").waitFor();
    await page.close();
  });

  test("a custom rule is previewed and saved, fires, is muted with an end and a reason, and deleted", async () => {
    const looks = await world.logIn(forAxe);
    const page = await visit("alerts", looks);
    await page.getByLabel("Name (a-z, 0-9, -)").fill("calm");
    await page.getByLabel("Metric").selectOption("waiting");
    await page.getByLabel("Condition").selectOption("below");
    await page.getByLabel("Threshold").fill("1000");
    await page.getByLabel("Minimum duration, minutes").fill("0");
    await page.getByRole("button", { name: "Preview last 7 days" }).click();
    await page.getByText("in the last 7 days").waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("button", { name: "Delete calm" }).waitFor();
    await page.getByText("waiting is 0, below 1000").waitFor();
    await bringAxe(page);
    await judge(page, "alerts");
    await page.setViewportSize({ width: 1_280, height: 900 });
    await page.getByRole("button", { name: "Mute calm…" }).click();
    await page.getByLabel("Duration", { exact: true }).selectOption("1 hour");
    await page.getByLabel("Reason (optional)").fill("we know");
    await judge(page, "mute of an alert");
    await page.setViewportSize({ width: 1_280, height: 900 });
    await page.getByRole("button", { name: "Mute", exact: true }).click();
    await page.getByText("firing, muted").waitFor();
    const { body } = await server.call("GET", "/v1/alerts");
    const [alert] = (body as { readonly data: readonly { readonly mute_reason: string }[] }).data;
    assert.equal(alert?.mute_reason, "we know");
    await page.getByRole("button", { name: "Delete calm" }).click();
    await page.getByRole("button", { name: "Delete calm" }).waitFor({ state: "detached" });
    await looks.close();
  });

  test("an event type and a tenant are edited; errors are shown at their field", async () => {
    const path = "/v1/event-types/order.sent";
    const sample = { id: "a" };
    await server.call("PUT", path, { description: "Sent.", schema: { type: "object" }, examples: [sample] });
    const looks = await world.logIn(forAxe);
    const page = await visit("event-types/order.sent", looks);
    const seen = watch(page, { origin: server.url });
    const save = page.getByRole("button", { name: "Save", exact: true });
    await page.getByRole("button", { name: "Deprecate", exact: true }).click();
    await page.getByRole("button", { name: "Undo deprecation", exact: true }).waitFor();
    await page.getByRole("link", { name: "Edit" }).click();

    const schema = page.getByLabel("JSON Schema");
    await schema.fill("{");
    await save.click();
    await page.getByText("JSON Schema is not valid JSON.").waitFor();
    await schema.fill('{"type":"objekt"}');
    await save.click();
    await page.getByText("JSON Schema must be one of the allowed values.").waitFor();
    assert.equal(await schema.getAttribute("aria-invalid"), "true");
    await schema.fill('{"type":"object","properties":{"id":{"type":"number"}}}');
    await save.click();
    await page.getByText("Examples (JSON) must be number.").waitFor();
    await bringAxe(page);
    await judge(page, "form of an event type");
    await page.setViewportSize({ width: 1_280, height: 900 });
    const big = "9007199254740993";
    const examples = page.getByLabel("Examples (JSON)");
    await examples.fill(`[{"id":${big}}]`);
    await page.getByRole("button", { name: "Save as API" }).click();
    await page.getByRole("dialog").getByText("-X PUT", { exact: false }).filter({ hasText: big }).waitFor();
    await page.keyboard.press("Escape");
    const sent = page.waitForRequest((request) => request.method() === "PUT");
    await save.click();
    assert.match((await sent).postData() ?? "", new RegExp(big));
    await page.getByRole("region", { name: "JSON Schema" }).getByText('"number"').waitFor();
    const { body } = await server.call("GET", path);
    const kept = body as Readonly<Record<string, unknown>>;
    assert.deepEqual([kept["description"], kept["deprecated"]], ["Sent.", true]);

    await goWithin(page, "/ui/tenants/default");
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Requests per minute").fill("600");
    await page.getByLabel("Maximum webhooks").fill("2000000");
    await save.click();
    await page.getByText(/^Maximum webhooks must be .+\.$/).waitFor();
    await judge(page, "form of a tenant");
    await page.setViewportSize({ width: 1_280, height: 900 });
    await page.getByLabel("Maximum webhooks").fill("40");
    await page.getByLabel("Name").fill("Shop");
    await page.getByRole("button", { name: "Save as API" }).click();
    const command = "posthorn tenants put default --name Shop --rate-limit 600 --webhooks-max 40";
    await page.getByRole("dialog").getByText(command).waitFor();
    await page.keyboard.press("Escape");
    await save.click();
    await page.getByRole("heading", { level: 1, name: "Shop" }).waitFor();
    const tenant = (await server.call("GET", "/v1/tenants/default")).body as Readonly<
      Record<string, unknown>
    >;
    assert.deepEqual(tenant["rate_limit"], { requests_per_minute: 600, burst: 20 });
    assert.equal(tenant["webhooks_max"], 40);
    await server.call("PUT", "/v1/tenants/default", { rate_limit: null });
    assertClean(seen);
    await looks.close();
  });

  test("axe finds nothing in the states of the lists", async () => {
    const looks = await world.logIn(forAxe);
    const page = await visit("deliveries", looks);
    await page.locator("tbody tr").nth(5).waitFor();
    await bringAxe(page);
    await page.getByRole("button", { name: /Time range/ }).click();
    await judge(page, "range");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "View" }).click();
    await judge(page, "view");
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 1_280, height: 900 });
    await page.locator("tbody th a").first().focus();
    await page.keyboard.press("x");
    await page.getByText("1 selected").waitFor();
    await judge(page, "selection and cell actions");
    await page.getByRole("button", { name: "Retry…" }).click();
    await judge(page, "preview of a retry");
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 1_280, height: 900 });
    await page.locator("tbody th a").first().focus();
    await page.keyboard.press("p");
    await page.getByText("Attempt 1 of 1").waitFor();
    await judge(page, "panel");
    await looks.close();
  });

  test("dead letters are discarded after typing their number; the operation can be slowed, paused and cancelled", async () => {
    isRepaired = false;
    for (let index = 0; index < 3; index += 1)
      await server.call("POST", "/v1/events", { event_type: "order.paid", data: { bad: index } });
    const looks = await world.logIn(forAxe);
    const page = await visit("dead-letters", looks);
    await bringAxe(page);
    await rowCount(page, 3);
    await page.getByRole("button", { name: "Discard…" }).click();
    const start = page.getByRole("button", { name: "Discard 3" });
    await start.waitFor();
    assert.equal(await start.isDisabled(), true);
    await judge(page, "preview of a discard");
    await page.getByLabel("Deliveries per second").fill("0.1");
    await page.getByLabel("Type “discard 3” to confirm").fill("discard 3");
    await start.click();
    await page.waitForURL(/\/ui\/operations\//);
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: /paused$/ }).waitFor();
    await judge(page, "operation");
    await page.getByLabel("Deliveries per second").fill("0.2");
    await page.getByRole("button", { name: "Change rate" }).click();
    await page.getByText("0.2 per second").waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("button", { name: "Cancel…" }).click();
    await page.getByRole("button", { name: "Cancel operation" }).click();
    await page.getByRole("heading", { level: 1, name: /cancelled$/ }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Cancel…" }).count(), 0);
    await page.getByRole("main").getByRole("link", { name: "Operations" }).click();
    await page.getByRole("row", { name: /Discard dead letters.*cancelled/ }).waitFor();
    await judge(page, "operations");
    await looks.close();
  });
});
