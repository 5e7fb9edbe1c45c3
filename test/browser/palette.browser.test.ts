/** Command palette, shortcuts and the system page, in Chromium with one real server. */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import type { PosthornProcess } from "../scenarios/posthorn-process.fixture.ts";
import { bringAxe, forAxe, judge } from "./axe.fixture.ts";
import { assertClean, watch } from "./browser.fixture.ts";
import { DashboardWorld } from "./dashboard-world.fixture.ts";

suite("palette and keys", () => {
  let world: DashboardWorld;
  let server: PosthornProcess;
  let context: BrowserContext;
  let webhookId: string;
  let eventId: string;

  before(async () => {
    world = await DashboardWorld.open();
    ({ server, context } = world);
    const webhook = await server.call("POST", "/v1/webhooks", {
      url: "https://example.com/orders",
      events: ["order.*"],
      active: false,
    });
    webhookId = (webhook.body as { readonly id: string }).id;
    const event = await server.call("POST", "/v1/events", {
      event_type: "order.created",
      data: {},
      idempotency_key: "shop-4711",
    });
    eventId = (event.body as { readonly id: string }).id;
  });
  after(() => world?.close());

  const visit = (path: string, on = context): Promise<Page> => world.visit(path, on);
  const active = async (page: Page): Promise<string> => {
    const id = await page.getByRole("combobox").getAttribute("aria-activedescendant");
    return String(await page.evaluate(`document.getElementById(${JSON.stringify(id)})?.textContent ?? ""`));
  };

  test("opens pages, commands, ids, keys and URLs by keyboard, and returns the focus", async () => {
    const page = await visit("");
    const seen = watch(page, { origin: server.url });
    const opener = page.getByRole("button", { name: "Search or go to…" });
    await opener.focus();
    await page.keyboard.press("Control+k");
    await page.keyboard.press("Escape");
    await page.getByRole("combobox").waitFor({ state: "detached" });
    assert.match(String(await page.evaluate("document.activeElement?.textContent")), /Search or go to/);

    await page.keyboard.press("/");
    await page.keyboard.type("dead");
    assert.match(await active(page), /^Dead letters/);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Dead letters" }).waitFor();

    const finds: readonly (readonly [string, RegExp, string])[] = [
      [webhookId, /example\.com\/orders/, `webhooks/${webhookId}`],
      [eventId, /order\.created/, `events/${eventId}`],
      ["shop-4711", /order\.created.*idempotency key/, `events/${eventId}`],
      ["example.com/ord", /example\.com\/orders.*url/, `webhooks/${webhookId}`],
    ];
    for (const [typed, shown, path] of finds) {
      await page.keyboard.press("Control+k");
      await page.keyboard.type(typed);
      await page.getByRole("option", { name: shown }).waitFor();
      assert.match(await active(page), shown, "what was found is chosen first");
      await page.keyboard.press("Enter");
      await page.waitForURL(`${server.url}/ui/${path}`);
    }
    assertClean(seen);
    await page.close();
  });

  test("has the focus before its key event returns, even if it was closed a moment ago", async () => {
    const page = await visit("");
    const script = `(async () => {
      const press = () => document.body.dispatchEvent(
        new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true, cancelable: true }));
      const focused = () => document.activeElement?.getAttribute("role");
      press();
      const seen = [focused()];
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
      press();
      seen.push(focused());
      await new Promise((resolve) => setTimeout(resolve, 50));
      return [...seen, focused()].join();
    })()`;
    assert.equal(await page.evaluate(script), "combobox,combobox,combobox");
    await page.keyboard.type("audit");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
    await page.close();
  });

  test("keeps the focus while the page behind it is inert, and a click outside closes it", async () => {
    const page = await visit("");
    const link = page.getByRole("link", { name: "Deliveries", exact: true });
    await link.focus();
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox", { name: "Page, command, ID, key or URL" });
    const isFocused = () => field.evaluate((one) => one === one.ownerDocument.activeElement);
    for (const key of ["Tab", "Tab", "Shift+Tab"]) {
      await page.keyboard.press(key);
      assert.ok(await isFocused(), key);
    }
    assert.equal(await link.count(), 0, "readers of the screen do not find what is behind");
    await assert.rejects(link.click({ timeout: 500 }), "nor does a click reach it");
    await page.getByRole("status").filter({ hasText: "entries" }).click();
    assert.ok(await isFocused(), "a click beside the field does not take the focus");
    await page.mouse.click(5, 400);
    await field.waitFor({ state: "detached" });
    await link.waitFor();
    assert.ok(await link.evaluate((one) => one === one.ownerDocument.activeElement), "it has the focus back");
    await page.close();
  });

  test("offers the commands of the page, wraps around, and says when nothing is found", async () => {
    const page = await visit(`webhooks/${webhookId}`);
    await page.getByRole("button", { name: "Enable" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("enab");
    await page.keyboard.press("Enter");
    await page.getByText("active", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Disable…" }).waitFor();
    await page.keyboard.press("Control+k");
    const first = await active(page);
    await page.keyboard.press("ArrowUp");
    assert.equal(await active(page), (await page.getByRole("option").last().textContent()) ?? "");
    await page.keyboard.press("ArrowDown");
    assert.equal(await active(page), first);
    await page.keyboard.type("no such thing");
    await page.getByText("No results.").waitFor();
    await page.close();
  });

  test("single-key shortcuts can be disabled; the palette's key stays", async () => {
    const page = await visit("");
    await page.keyboard.press("g");
    await page.keyboard.press("s");
    await page.getByRole("heading", { level: 1, name: "System" }).waitFor();
    await page.keyboard.press("?");
    await page.getByLabel("Enable single-key shortcuts").uncheck();
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await page.keyboard.press("/");
    assert.equal(await page.getByRole("combobox").count(), 0);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("deliveries");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Deliveries" }).waitFor();
    await page.keyboard.press("?");
    await page.getByLabel("Enable single-key shortcuts").check();
    await page.close();
  });

  test("a dialog announces its changes, because everything outside is inert", async () => {
    const page = await visit("system");
    await page
      .getByRole("button", { name: / as API$/ })
      .first()
      .click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Copy command" }).first().click();
    await dialog.getByRole("status").getByText("Copied", { exact: true }).waitFor();
    assert.equal(await page.locator("#app > [role=status]").textContent(), "");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("f");
    await page.locator("#app > [role=status]").getByText("Following new rows", { exact: true }).waitFor();
    await page.close();
  });

  test("the system page shows roles, workers, store and settings with their source, and no secret", async () => {
    const page = await visit("system");
    await page.getByRole("row", { name: /default serving 1/ }).waitFor();
    await page.getByText("SQLite", { exact: true }).waitFor();
    await page.getByLabel("hide defaults").check();
    const settings = page.getByRole("table", { name: "Settings" });
    const text = (await settings.textContent()) ?? "";
    assert.match(text, /POSTHORN_/);
    assert.ok(!text.includes(server.adminKey));
    await page.close();
  });

  test("the API reference tries a call with the session, and with a key that stays in its field", async () => {
    const page = await context.newPage();
    const seen = watch(page, { origin: server.url });
    await page.goto(`${server.url}/docs#getTenant`);
    const tried = page.locator("h3#getTenant ~ details.try").first();
    await tried.getByText("Try it").click();
    await tried.getByLabel("id (required)").fill("default");
    await tried.getByRole("button", { name: "Send" }).click();
    await tried.getByText(/^200 OK[^]*"id": "default"/).waitFor();
    await page.getByLabel(/^API key for/).fill("wrong");
    await tried.getByRole("button", { name: "Send" }).click();
    await tried.getByText(/^401 Unauthorized/).waitFor();
    const codes = page.locator("table td:first-child code").first();
    assert.ok(((await codes.boundingBox())?.height ?? 99) < 30, "a status stands on one line");
    assertClean(seen);
    await page.close();
  });

  test("axe finds nothing in the palette, the shortcut list and the system page", async () => {
    const looks = await world.logIn(forAxe);
    const page = await visit("system", looks);
    await page.getByRole("row", { name: /serving/ }).waitFor();
    await bringAxe(page);
    await judge(page, "system");
    await page.keyboard.press("Control+k");
    await judge(page, "palette");
    await page.keyboard.press("Escape");
    await page.getByRole("combobox").waitFor({ state: "detached" });
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await judge(page, "key sheet");
    await looks.close();
  });
});
