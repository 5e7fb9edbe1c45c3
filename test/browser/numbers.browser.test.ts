/**
 * Numbers on pages are consistent with each other and with the ledger of a known world, in Chromium with one real
 * server.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { eventually } from "../scenarios/eventually.fixture.ts";
import { DashboardWorld } from "./dashboard-world.fixture.ts";

/** Number of deliveries by outcome. */
const ledger = { accepted: 5, givenUp: 2, retrying: 4, paused: 3 };
const waiting = ledger.retrying + ledger.paused;

suite("numbers", () => {
  let world: DashboardWorld;
  const ids: Record<string, string> = {};

  const create = async (path: string, body: object): Promise<Readonly<Record<string, string>>> => {
    const answer = await world.server.call("POST", path, body);
    assert.ok(answer.status < 300, `${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as Readonly<Record<string, string>>;
  };

  before(async () => {
    world = await DashboardWorld.open();
    const { receiver, server } = world;
    const statuses: Readonly<Record<string, number>> = { "/givenUp": 422, "/retrying": 500 };
    receiver.script(({ path }) => ({ status: statuses[path] ?? 200 }));
    for (const name of Object.keys(ledger)) {
      const made = await create("/v1/webhooks", {
        url: receiver.url(`/${name}`),
        events: [`order.${name.toLowerCase()}`],
        circuit_breaker_config: { enabled: false },
        retry_config: { schedule_ms: [3_600_000] },
      });
      ids[name] = made["id"] ?? "";
    }
    // Nothing is sent to this webhook, so it is healthy.
    await create("/v1/webhooks", { url: receiver.url("/quiet"), events: ["quiet.made"] });
    await create(`/v1/webhooks/${ids["paused"]}/pause`, {});
    for (const [name, count] of Object.entries(ledger))
      await create("/v1/events/batch", {
        events: Array.from({ length: count }, () => ({
          event_type: `order.${name.toLowerCase()}`,
          data: {},
        })),
      });
    const sent = ledger.accepted + ledger.givenUp + ledger.retrying;
    await eventually("every request was counted", {
      ask: async () => {
        const { body } = await server.call("GET", "/v1/stats/deliveries");
        const { series } = body as { readonly series: readonly { readonly totals: { attempts: number } }[] };
        return series[0]?.totals.attempts ?? 0;
      },
      holds: (attempts) => attempts === sent,
    });
  });
  after(() => world?.close());

  test("the overview says how many webhooks fail, and each of its numbers matches the ledger", async () => {
    const page = await world.visit("");
    const health = page.locator("p.health");
    await health.getByText("2 webhooks failing").waitFor();
    assert.ok(await health.locator(".tone-wait", { hasText: "failing" }).isVisible());
    await health
      .getByText(`1 paused. ${waiting} deliveries waiting, ${ledger.givenUp} dead letters.`)
      .waitFor();
    const tile = (title: string) =>
      page.locator(".tile").filter({ has: page.getByRole("heading", { name: title }) });
    const accepted = tile("Deliveries accepted");
    const { accepted: success, givenUp } = ledger;
    await accepted.getByText(`${success} accepted, ${givenUp} dead letters, ${waiting} waiting`).waitFor();
    const share = (await accepted.locator(".tile-figure").textContent()) ?? "";
    assert.equal(
      Math.round(Number.parseFloat(share)),
      Math.round((success / (success + givenUp + waiting)) * 100),
    );
    assert.equal(await tile("Waiting").locator(".tile-figure").textContent(), String(waiting));
    await page.getByText(`${waiting} waiting, ${givenUp} dead letters.`).first().waitFor();
    const worst = page.getByRole("table", { name: "Webhooks by failures" }).getByRole("row").nth(1);
    assert.match((await worst.textContent()) ?? "", /\/retrying.*Failing.*4100 %/);
    await health.getByRole("link").click();
    await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor();
    await page.locator("tbody tr").nth(1).waitFor();
    assert.equal(await page.locator("tbody tr").count(), 2);
    await page.close();
  });

  test("the list, the page and the deliveries of a webhook show the same counts", async () => {
    const page = await world.visit("webhooks?sort=backlog");
    const rows = page.locator("tbody tr");
    await rows.nth(4).waitFor();
    const expected = [
      ["/retrying", "Failing", String(ledger.retrying)],
      ["/paused", "Paused", String(ledger.paused)],
    ] as const;
    for (const [index, texts] of expected.entries()) {
      const text = (await rows.nth(index).textContent()) ?? "";
      for (const part of texts) assert.ok(text.includes(part), `${part} in ${text}`);
    }
    for (const name of ["accepted", "quiet"])
      assert.match((await rows.filter({ hasText: `/${name}` }).textContent()) ?? "", /Healthy/);
    await page.goto(`${world.server.url}/ui/webhooks/${ids["retrying"]}`);
    await page.locator("header .badge, .page-head .badge", { hasText: "Failing" }).first().waitFor();
    await page.getByText(`${ledger.retrying} deliveries waiting`).waitFor();
    await page.goto(`${world.server.url}/ui/deliveries?webhook_id=${ids["retrying"]}&status=failed`);
    await rows.nth(ledger.retrying - 1).waitFor();
    assert.equal(await rows.count(), ledger.retrying);
    assert.match((await rows.first().textContent()) ?? "", /Failing/);
    await page.close();
  });

  for (const [locale, failing, waits] of [
    ["en", "Failing", `${ledger.retrying} messages`],
    ["de", "Fehlerhaft", `${ledger.retrying} Nachrichten`],
  ] as const) {
    test(`the portal shows the same numbers in customers' language (${locale})`, async () => {
      const session = await create("/v1/portal-sessions", { tenant_id: "default" });
      const page = await (await world.browser.newContext({ locale })).newPage();
      await page.goto(session["url"] ?? "");
      const card = page.locator(".card").filter({ hasText: "/retrying" });
      await card.getByText(failing, { exact: true }).waitFor();
      await card.getByRole("link").click();
      await page.locator(".note-bad").getByText(waits, { exact: false }).waitFor();
      await page.context().close();
    });
  }
});
