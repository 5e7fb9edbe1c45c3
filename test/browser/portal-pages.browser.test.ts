/**
 * Portal pages in Chromium: notification settings, help for a failing check, live updates, colors and text direction.
 */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, afterEach, before, suite, test } from "node:test";
import type { Page } from "playwright-core";
import { eventually } from "../scenarios/eventually.fixture.ts";
import { bringAxe, forAxe, judge } from "./axe.fixture.ts";
import { assertClean, loggedIn, watch } from "./browser.fixture.ts";
import { everything, type Json, PortalWorld, wordsOf } from "./portal-world.fixture.ts";

suite("pages of the portal", () => {
  let world: PortalWorld;
  before(async () => {
    // No mail server listens at this address, so emails wait. The page only has to show that.
    const mail = { POSTHORN_SMTP_URL: "smtp://127.0.0.1:9", POSTHORN_MAIL_FROM: "Webhooks <w@example.com>" };
    world = await PortalWorld.open(mail);
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  const channels = async () =>
    (await world.call("GET", "/v1/tenants/acme/notifications"))["data"] as readonly Json[];

  test("a user sets where notifications are sent, when, and in which language, and tests it", async () => {
    const page = await world.visit(everything, "notifications", { timezoneId: "Europe/Berlin" });
    const seen = watch(page, { origin: world.server.url });
    await page.getByText("No channels yet.").waitFor();
    await page.getByRole("button", { name: "Add channel" }).click();
    await page.getByLabel("Email address").fill("ada@example.com");
    await page.getByLabel("A message became a dead letter").check();
    await page.getByLabel("Frequency").selectOption("hourly");
    await page.getByLabel(/^Send nothing during quiet hours/).check();
    await page.getByLabel("From").fill("21:30");
    await page.getByLabel("Message language").selectOption("de");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "ada@example.com" }).waitFor();
    const [made] = await channels();
    assert.deepEqual(
      [made?.["kind"], made?.["frequency"], made?.["time_zone"], made?.["language"], made?.["quiet_hours"]],
      ["email", "hourly", "Europe/Berlin", "de", { from: "21:30", until: "07:00" }],
    );
    assert.deepEqual(made?.["topics"], ["first_problem", "failing", "disabled", "exhausted"]);
    await page.getByText("Not confirmed yet", { exact: true }).waitFor();
    await page.getByText(/^We sent a confirmation email to this address/).waitFor();
    await page.getByRole("rowheader", { name: /^Bestätigen Sie/ }).waitFor();
    const refused = page.waitForResponse((answer) => answer.url().endsWith("/test"));
    await page.getByRole("button", { name: "Send test" }).click();
    assert.equal((await refused).status(), 409);
    assert.ok(
      !(await page.content()).includes("127.0.0.1:9"),
      "where our mail server is, is nobody's business",
    );
    assertClean(seen);
  });

  test("a channel with a custom URL shows its secret once, and a new one when it is replaced", async () => {
    const page = await world.visit(everything, "notifications");
    await page.getByRole("button", { name: "Add channel" }).click();
    await page.getByLabel("Type").selectOption("webhook");
    await page.getByLabel("URL", { exact: true }).fill(world.receiver.url("/told"));
    await page.getByLabel("Name (optional)").fill("Ops");
    await page.getByRole("button", { name: "Save" }).click();
    const secretShown = page.getByText(/^whsec_/);
    const first = await secretShown.textContent();
    const card = page.locator(".card", { hasText: "Ops" });
    await card.getByRole("button", { name: "Rotate secret" }).click();
    await card.getByText(/^whsec_/).waitFor();
    assert.notEqual(await card.getByText(/^whsec_/).textContent(), first);
    await card.getByRole("button", { name: "Send test" }).click();
    await world.receiver.waitUntil(() => world.receiver.requests.some(({ path }) => path === "/told"));
    const before = await channels();
    await card.getByRole("button", { name: "Remove channel" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove channel" }).click();
    await card.waitFor({ state: "detached" });
    assert.deepEqual(
      (await channels()).map(({ id }) => id),
      before.filter(({ name }) => name !== "Ops").map(({ id }) => id),
      "the others stay",
    );
  });

  test("an endpoint's page lists who is notified about it, and its own channels", async () => {
    const webhook = { tenant_id: "acme", events: ["order.*"], url: world.receiver.url("/other") };
    const other = await world.call("POST", "/v1/webhooks", webhook);
    const all = { kind: "email", address: "all@example.com" };
    await world.call("PUT", "/v1/tenants/acme/notifications", { channels: [all] });
    const page = await world.visit(everything, `endpoints/${world.webhookId}`);
    const tabs = page.getByRole("navigation", { name: "Sections of this page" });
    await tabs.getByRole("link", { name: "Notifications" }).click();
    await page.getByRole("heading", { name: "all@example.com" }).waitFor();
    await page.getByRole("button", { name: "Add dedicated channel" }).click();
    await page.getByLabel("Email address").fill("ada@example.com");
    assert.equal(await page.getByLabel("Applies to all").isChecked(), false);
    assert.equal(await page.getByLabel(world.receiver.url("/first")).isChecked(), true);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "ada@example.com" }).waitFor();
    const made = (await channels()).find(({ address }) => address === "ada@example.com");
    assert.deepEqual(made?.["webhook_ids"], [world.webhookId]);

    const card = page.locator(".card", { hasText: "ada@example.com" });
    await card.getByRole("button", { name: "Edit" }).click();
    await card.getByLabel(world.receiver.url("/other")).check();
    await card.getByLabel(world.receiver.url("/first")).uncheck();
    await card.getByRole("button", { name: "Save" }).click();
    await card.waitFor({ state: "detached" });
    const changed = (await channels()).find(({ id }) => id === made?.["id"]);
    assert.deepEqual(changed?.["webhook_ids"], [other["id"]]);
    await world.call("PUT", "/v1/tenants/acme/notifications", { channels: [] });
    await world.call("DELETE", `/v1/webhooks/${String(other["id"])}`);
  });

  test("a session without the capability, or limited to some endpoints, has no such page", async () => {
    for (const more of [{}, { ...everything, webhook_ids: [world.webhookId] }]) {
      const page = await world.visit(more);
      await page.getByRole("link", { name: "Help" }).waitFor();
      assert.equal(await page.getByRole("link", { name: "Notifications" }).count(), 0);
    }
  });

  test("a pasted request is checked in the browser only, and problems are shown", async () => {
    const page = await world.visit(everything, "help");
    const key = Buffer.alloc(32, 7);
    const secret = `whsec_${key.toString("base64")}`;
    const time = Math.floor(Date.now() / 1_000);
    const body = '{"type":"order.paid","data":{"id":1}}';
    const signature = createHmac("sha256", key).update(`msg_1.${time}.${body}`).digest("base64");
    const sent: string[] = [];
    page.on("request", (request) => sent.push(`${request.url()} ${request.postData() ?? ""}`));
    await page
      .getByLabel("Request headers")
      .fill(`webhook-id: msg_1\nwebhook-timestamp: ${time}\nwebhook-signature: v1,${signature}`);
    await page.getByLabel("Raw body").fill(JSON.stringify(JSON.parse(body), null, 2));
    await page.getByLabel("Signing secret").fill(secret);
    await page.getByRole("button", { name: "Check request" }).click();
    await page
      .getByText(/matches the same JSON with different white space/)
      .first()
      .waitFor();
    await page.getByLabel("Raw body").fill(body);
    await page
      .getByLabel(/^Signature computed by your code/)
      .fill(createHmac("sha256", secret).update(`msg_1.${time}.${body}`).digest("hex"));
    await page.getByRole("button", { name: "Check request" }).click();
    await page.getByText("The signature matches the body and the secret.").waitFor();
    await page
      .getByText(/uses the text of the secret as the key/)
      .first()
      .waitFor();
    for (const held of [secret, secret.slice(6), signature, "order.paid"])
      assert.ok(!sent.some((one) => one.includes(held)), `${held} left the page`);
  });

  test("without an endpoint, the help shows the retry schedule of the standard profile", async () => {
    const page = await world.visit({ capabilities: ["deliveries:read"] }, "help");
    await page.getByText(/^Messages are attempted up to 10 times/).waitFor();
    const schedule = page.getByRole("table", { name: "If your server does not accept a message" });
    assert.equal(await schedule.getByRole("row").count(), 10);
    await schedule.getByRole("row", { name: "2 5 seconds" }).waitFor();
  });

  test("programs in eight languages are those that the tests run, or are marked as not run", async () => {
    const page = await world.visit({}, "help");
    const said = { Python: 1, Java: 1, Node: 2, Go: 0, Ruby: 0, PHP: 0, "C#": 0, Rust: 0 };
    for (const [language, executed] of Object.entries(said)) {
      await page.getByRole("button", { name: language, exact: true }).click();
      await page
        .getByRole("region", { name: `${language}: ` })
        .first()
        .waitFor();
      assert.equal(await page.getByText("Our tests run this code").count(), executed, language);
      assert.ok((await page.getByRole("region", { name: `${language}: ` }).count()) > 0);
    }
  });

  test("a complete message of the endpoint's profile is shown, signed with the secret on the page", async () => {
    const page = await world.visit({}, "help");
    const shown = page.getByRole("region", { name: "Example message" });
    await shown.waitFor();
    const [head = "", body = ""] = (await shown.innerText()).split("\n\n");
    const valueOf = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(head)?.[1] ?? "";
    assert.match(head, /^POST \/webhooks HTTP\/1\.1\nHost: /);
    const secret = await page.locator("dd code", { hasText: "whsec_" }).innerText();
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const content = `${valueOf("Webhook-ID")}.${valueOf("Webhook-Timestamp")}.${body}`;
    const mac = createHmac("sha256", key).update(content).digest("base64");
    assert.ok(valueOf("Webhook-Signature").split(" ").includes(`v1,${mac}`));
    await page.getByLabel("Format", { exact: true }).selectOption("standard-thin");
    await page.getByText('"data":{"order_id":"4711"}').waitFor();
  });

  test("updates arrive by a stream with the token of the session, and by polling if none opens", async () => {
    const context = await world.browser.newContext({ locale: "en" });
    const live = await context.newPage();
    const opening = live.waitForRequest((request) => request.url().includes("/v1/stream"));
    await live.goto(await addressOf("activity"));
    assert.match((await (await opening).allHeaders())["authorization"] ?? "", /^Bearer phs_/);
    await rowsGrow(live);
    const without = await world.browser.newContext({ locale: "en" });
    await without.route("**/v1/stream*", (route) => route.abort());
    const polling = await without.newPage();
    await polling.goto(await addressOf("activity"));
    await rowsGrow(polling);
  });

  const addressOf = async (path: string) => {
    const url = new URL(String((await world.session())["url"]));
    url.pathname += path;
    return url.href;
  };

  const rowsGrow = async (page: Page) => {
    const rows = page.locator("table.messages tbody tr");
    await rows.first().waitFor();
    const count = await rows.count();
    await world.publish(5);
    await eventually("the new message is shown without a click", {
      ask: () => rows.count(),
      holds: (now) => now > count,
    });
  };

  test("a test carries custom data, once it is a JSON object", async () => {
    const page = await world.visit(everything, `endpoints/${world.webhookId}`);
    await page.getByRole("button", { name: "Send test" }).click();
    await page.getByText("Send custom data").click();
    await page.getByLabel("Content").fill('{"order_id": 12');
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByText("This is not a JSON object.").waitFor();
    await page.getByLabel("Content").fill('{"order_id": 12}');
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByText("Your server accepted the message.").first().waitFor();
    const bodies = world.receiver.requests.map(({ body }) => Buffer.from(body).toString());
    assert.ok(bodies.some((body) => body.includes('"order_id":12')));
  });

  test("data stays while the server is unreachable, and so does typed input", async () => {
    const page = await world.visit(everything);
    await page.getByRole("link", { name: world.receiver.url("/first") }).waitFor();
    for (const fault of ["offline", 500, 503] as const) {
      await page.route("**/v1/webhooks?*", (route) =>
        fault === "offline" ? route.abort() : route.fulfill({ status: fault, body: "" }),
      );
      await lookAgain(page);
      await page.getByRole("alert").first().waitFor();
      assert.equal(
        await page.getByRole("link", { name: world.receiver.url("/first") }).count(),
        1,
        String(fault),
      );
      await page.unroute("**/v1/webhooks?*");
      await lookAgain(page);
      await page.getByRole("alert").first().waitFor({ state: "detached" });
    }
    await page.getByRole("link", { name: "Add endpoint" }).click();
    await page.getByLabel("Address").fill("https://example.com/kept");
    await page.getByLabel(/^All events/).check();
    await page.route("**/v1/webhooks", (route) => route.abort());
    await page.getByRole("button", { name: "Add endpoint" }).click();
    await page.getByText("The server did not respond.").first().waitFor();
    assert.equal(await page.getByLabel("Address").inputValue(), "https://example.com/kept");
  });

  test("an operator chooses the appearance, sees the contrast first, and ends a session", async () => {
    const { url, adminKey: key } = world.server;
    const context = await loggedIn(world.browser, { url, key });
    const page = await context.newPage();
    const seen = watch(page, { origin: url });
    await page.goto(`${url}/ui/portal`);
    await page.getByLabel("Accent").fill("#ffdd00");
    await page.getByText(/^In light: #806e00, 4\.5:1 on the background; #ffdd00 under text/).waitFor();
    await page.getByLabel("Product name").fill("Shop of Acme");
    await page.getByLabel("Allowed frame origins").fill("https://app.example.com/");
    const save = page.getByRole("button", { name: "Save" });
    await save.click();
    await page.getByText(/^Allowed frame origins must be an origin/).waitFor();
    await page.getByLabel("Allowed frame origins").fill("https://app.example.com");
    await save.click();
    await settingsAre({ accent: "#ffdd00", product_name: "Shop of Acme" });
    // Types before the page has received the saved values, because that input must be kept.
    await page.getByLabel("Product name").fill("");
    await save.click();
    await settingsAre({ accent: "#ffdd00", product_name: null });
    const logo = { name: "logo.png", mimeType: "image/png", buffer: pixel };
    await page.getByLabel("Logo for the light scheme").setInputFiles(logo);
    await page.getByText("image/png, saved").waitFor();
    const customer = await world.visit({ reference: "ada" });
    const shown = customer.locator("img.logo-light");
    // Waits until the image is loaded, and rejects if the data is not an image.
    await shown.evaluate((image) => (image as unknown as { decode(): Promise<void> }).decode());
    await page.getByRole("button", { name: "End ada" }).click();
    await customer.getByRole("link", { name: "Activity" }).click();
    await customer.getByText("The session has ended.").first().waitFor();
    await page.getByRole("button", { name: "Remove light logo" }).click();
    await page.getByText("image/png, saved").waitFor({ state: "detached" });
    assertClean(seen);
    await world.call("PUT", "/v1/portal-settings", { theme: null, origins: null });
    await context.close();
  });

  const settingsAre = (theme: Json) =>
    eventually("the settings are saved", {
      ask: async () => (await world.call("GET", "/v1/portal-settings"))["theme"] as Json | null,
      holds: (now) => Object.entries(theme).every(([name, value]) => now?.[name] === value),
    });

  test("light or dark can be chosen, and is not stored; a fixed scheme offers no choice", async () => {
    const page = await world.visit({}, "", { colorScheme: "light" });
    await page.getByLabel("Theme").selectOption("dark");
    assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
    await page.getByRole("link", { name: "Help" }).click();
    assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
    assert.equal(await page.evaluate("localStorage.length + sessionStorage.length"), 0);
    await page.getByLabel("Theme").selectOption("auto");
    assert.equal(await page.locator("html").getAttribute("data-theme"), null);
    const fixed = await world.visit({ theme: { scheme: "dark" } });
    await fixed.getByLabel("Language").waitFor();
    assert.equal(await fixed.locator("html").getAttribute("data-theme"), "dark");
    assert.equal(await fixed.getByLabel("Theme").count(), 0);
  });

  test("from right to left, at 200 % and in forced colours nothing is cut off or lost", async () => {
    const pages = [
      "",
      "add",
      `endpoints/${world.webhookId}`,
      "activity",
      "notifications",
      "event-types",
      "help",
    ];
    for (const path of pages) {
      // 320 px correspond to 640 px at 200% zoom.
      const options = { ...forAxe, viewport: { width: 320, height: 900 }, forcedColors: "active" };
      const page = await world.visit({ ...everything, locale: "de" }, path, options);
      await page.getByText(wordsOf("de")("loading")).waitFor({ state: "detached" });
      await page.evaluate("document.documentElement.dir = 'rtl'");
      const [overflow, outside] = await page.evaluate<readonly [number, readonly string[]]>(`[
        document.documentElement.scrollWidth - innerWidth,
        [...document.querySelectorAll("a, button, input, select, h1, h2, label")]
          .filter((element) => !element.closest(".off-screen, .skip, dialog:not([open])") && !element.matches(".skip"))
          .map((element) => [element, element.getBoundingClientRect()])
          .filter(([, box]) => box.width > 0 && (box.left < -1 || box.right > innerWidth + 1))
          .map(([element]) => element.outerHTML.slice(0, 120)),
      ]`);
      assert.ok(overflow <= 0, `/${path} is ${overflow} px too wide`);
      assert.deepEqual(outside, [], `/${path} from right to left`);
      await page.context().close();
    }
  });

  test("axe finds nothing in the channel forms and the results of a check", async () => {
    for (const locale of ["en", "de"] as const) {
      const words = wordsOf(locale);
      const told = await world.visit({ ...everything, locale }, "notifications", forAxe);
      await told.getByRole("button", { name: words("told.add") }).click();
      await told.getByLabel(words("told.quiet.on")).first().check();
      await bringAxe(told);
      await judge(told, `${locale} a new channel`);
      const help = await world.visit({ ...everything, locale }, "help", forAxe);
      await help.getByLabel(words("paste.headers")).fill("webhook-id: 1");
      await help.getByLabel(words("paste.body")).fill("{}");
      await help.getByLabel(words("secret.title")).fill("x");
      await help.getByRole("button", { name: words("paste.check") }).click();
      await help
        .getByText(/webhook-timestamp, webhook-signature/)
        .first()
        .waitFor();
      await bringAxe(help);
      await judge(help, `${locale} a pasted request`);
    }
  });
});

/** Simulates that the user returns to the window, which makes the page refetch its data. */
async function lookAgain(page: Page): Promise<void> {
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))');
}

/** An image of a single pixel. */
const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
