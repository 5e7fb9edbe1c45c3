/** Lists that are longer than one page: filters, new rows and selection, in Chromium with one real server. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Page } from "playwright-core";
import { eventually } from "../scenarios/eventually.fixture.ts";
import { goWithin } from "./browser.fixture.ts";
import { DashboardWorld } from "./dashboard-world.fixture.ts";

/** More than one page of 50. */
const each = 55;

interface LongList {
  readonly path: string;
  /** The same list with two filters: one matches different rows, the other matches none. */
  readonly filtered: string;
  readonly empty: string;
  /** Text that each row contains before and after filtering. */
  readonly texts: readonly [string, string];
  /** The message for an empty list. */
  readonly none: string;
}

suite("long lists", () => {
  let world: DashboardWorld;
  const ids = { works: "", refuses: "", sourceA: "", sourceB: "" };
  let portalUrl = "";

  const create = async (path: string, body: object): Promise<Readonly<Record<string, string>>> => {
    const answer = await world.server.call("POST", path, body);
    assert.ok(answer.status < 300, `${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as Readonly<Record<string, string>>;
  };
  const publish = (eventType: string, count: number) =>
    create("/v1/events/batch", {
      events: Array.from({ length: count }, (_, index) => ({
        event_type: eventType,
        tenant_id: "acme",
        data: { index },
      })),
    });
  const reached = (count: number) =>
    eventually(`${count} deliveries have ended`, {
      ask: async () => {
        const path = "/v1/deliveries?status=success&status=exhausted&limit=250";
        const { body } = await world.server.call("GET", path);
        return (body as { readonly data: readonly unknown[] }).data.length;
      },
      holds: (ended) => ended === count,
      withinMs: 60_000,
    });

  before(async () => {
    world = await DashboardWorld.open();
    const { receiver, server } = world;
    receiver.script(({ path }) => ({ status: path === "/refuses" ? 422 : 200 }));
    await server.call("PUT", "/v1/tenants/acme", { name: "Acme" });
    const webhook = (path: string, event: string) =>
      create("/v1/webhooks", {
        tenant_id: "acme",
        url: receiver.url(path),
        events: [event],
        circuit_breaker_config: { enabled: false },
        profile: "x-webhook",
        rate_limit: { requests_per_minute: 100_000, burst: 1_000 },
      });
    ids.works = (await webhook("/works", "order.sent"))["id"] ?? "";
    ids.refuses = (await webhook("/refuses", "order.paid"))["id"] ?? "";
    for (let index = 0; index < each; index += 1) await webhook(`/quiet/${index}`, "quiet.made");
    for (let index = 0; index < each; index += 1)
      await create("/v1/webhooks", { url: receiver.url(`/other/${index}`), events: ["quiet.made"] });
    await publish("order.sent", each);
    await reached(each);
    await publish("order.paid", each);
    await reached(2 * each);
    const [a, b] = await Promise.all(
      ["a", "b"].map((name) => create("/v1/sources", { name, verification: { type: "none" } })),
    );
    [ids.sourceA, ids.sourceB] = [a?.["id"] ?? "", b?.["id"] ?? ""];
    for (const source of [a, b])
      for (let index = 0; index < each; index += 1)
        await fetch(source?.["url"] ?? "", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ type: "ping" }),
        });
    const session = await create("/v1/portal-sessions", { tenant_id: "acme" });
    portalUrl = session["url"] ?? "";
  });
  after(() => world?.close());

  const dashboardLists: Readonly<Record<string, () => LongList>> = {
    deliveries: () => ({
      path: "deliveries",
      filtered: `deliveries?webhook_id=${ids.works}`,
      empty: "deliveries?event_type=order.lost",
      texts: ["order.paid", "order.sent"],
      none: "No matching deliveries.",
    }),
    requests: () => ({
      path: "requests",
      filtered: `requests?source_id=${ids.sourceA}`,
      empty: "requests?rejection_cause=no_matching_signature",
      texts: ["b", "a"],
      none: "No matching requests.",
    }),
    events: () => ({
      path: "events",
      filtered: "events?event_type=order.sent",
      empty: "events?event_type=order.lost",
      texts: ["order.paid", "order.sent"],
      none: "No matching events.",
    }),
    "dead letters": () => ({
      path: "dead-letters",
      filtered: `dead-letters?webhook_id=${ids.refuses}`,
      empty: `dead-letters?webhook_id=${ids.works}`,
      texts: ["order.paid", "order.paid"],
      none: "No dead letters.",
    }),
    webhooks: () => ({
      path: "webhooks",
      filtered: "webhooks?tenant_id=acme",
      empty: "webhooks?q=nowhere",
      texts: ["/other", "/quiet"],
      none: "No matching webhooks.",
    }),
  };

  const rowsOf = (page: Page) => page.locator("main tbody tr");
  const allHave = async (page: Page, text: string): Promise<void> => {
    await rowsOf(page).filter({ hasText: text }).nth(49).waitFor();
    assert.equal(await rowsOf(page).filter({ hasNotText: text }).count(), 0);
  };

  for (const [name, list] of Object.entries(dashboardLists)) {
    test(`${name}: another filter replaces all rows, even by none`, async () => {
      const { path, filtered, empty, texts, none } = list();
      const page = await world.visit(path);
      await allHave(page, texts[0]);
      await goWithin(page, `/ui/${filtered}`);
      await allHave(page, texts[1]);
      assert.equal(await page.getByRole("button", { name: /\d new$/ }).count(), 0);
      await goWithin(page, `/ui/${empty}`);
      await page.getByText(none).waitFor();
      assert.equal(await rowsOf(page).count(), 0);
      await goWithin(page, `/ui/${path}`);
      await allHave(page, texts[0]);
      await page.close();
    });
  }

  test("no row can be selected while the response to a new filter is awaited", async () => {
    const page = await world.visit("deliveries");
    await allHave(page, "order.paid");
    let answer = () => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route("**/v1/deliveries?**", async (route) => {
      await held;
      await route.continue();
    });
    await goWithin(page, `/ui/deliveries?webhook_id=${ids.works}`);
    await page.locator("section[aria-busy=true]").waitFor();
    const all = page.getByLabel("Select all shown").first();
    await all.click();
    await rowsOf(page).first().getByRole("checkbox").click();
    assert.equal(await page.getByText(/\d selected/).count(), 0);
    answer();
    await allHave(page, "order.sent");
    await all.check();
    await page.getByText("50 selected").waitFor();
    await page.close();
  });

  test("new rows of the same query wait for their button, and older rows follow without a gap", async () => {
    const page = await world.visit("deliveries");
    await allHave(page, "order.paid");
    await publish("order.sent", 3);
    await reached(2 * each + 3);
    const button = page.getByRole("button", { name: "3 new" });
    await button.waitFor();
    assert.equal(await rowsOf(page).filter({ hasText: "order.sent" }).count(), 0);
    await page.getByRole("button", { name: "Older" }).click();
    await rowsOf(page).nth(99).waitFor();
    const keys = await rowsOf(page).evaluateAll((rows) => rows.map((row) => row.getAttribute("data-row")));
    assert.equal(new Set(keys).size, 100);
    await button.click();
    await rowsOf(page).first().filter({ hasText: "order.sent" }).waitFor();
    await button.waitFor({ state: "detached" });
    await page.close();
  });

  test("a selected row that no longer matches leaves the selection", async () => {
    const { server, receiver } = world;
    receiver.script(({ path }) => (path === "/stays" ? { status: 500 } : { status: 200 }));
    const made = await create("/v1/webhooks", { url: receiver.url("/stays"), events: ["stay.made"] });
    await server.call("POST", `/v1/webhooks/${made["id"]}/pause`, {});
    await create("/v1/events/batch", {
      events: Array.from({ length: 12 }, (_, index) => ({ event_type: "stay.made", data: { index } })),
    });
    const page = await world.visit(`deliveries?status=pending&webhook_id=${made["id"]}`);
    await rowsOf(page).nth(11).waitFor();
    await page.getByLabel("Select all shown").first().check();
    await page.getByText("12 selected").waitFor();
    const { body } = await server.call("GET", `/v1/deliveries?webhook_id=${made["id"]}&limit=4`);
    const cancelled = (body as { readonly data: readonly { readonly id: string }[] }).data.map(
      ({ id }) => id,
    );
    await create("/v1/deliveries/cancel-batch", { ids: cancelled });
    await page.getByText("8 selected").waitFor();
    await page.close();
  });

  test("portal messages: another filter replaces all rows, even by none", async () => {
    const page = await (await world.browser.newContext({ locale: "en" })).newPage();
    const url = new URL(portalUrl);
    url.pathname += "activity";
    await page.goto(url.href);
    await page.locator("table.messages tbody tr").nth(24).waitFor();
    const rows = page.locator("table.messages tbody tr");
    await page.getByRole("button", { name: "Failed", exact: true }).click();
    await rows.filter({ hasText: "order.paid" }).nth(24).waitFor();
    assert.equal(await rows.filter({ hasText: "order.sent" }).count(), 0);
    await page.getByRole("button", { name: "Accepted", exact: true }).click();
    await rows.filter({ hasText: "order.sent" }).nth(24).waitFor();
    assert.equal(await rows.filter({ hasText: "order.paid" }).count(), 0);
    await page.context().close();
  });
});
