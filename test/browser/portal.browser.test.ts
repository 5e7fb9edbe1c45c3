/**
 * The portal in Chromium, with a real server and a real receiver: as a customer sees it, and embedded in a page of
 * another site.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, suite, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { contrast, contrastMin } from "../../src/features/portal/contrast.ts";
import type { Receiver } from "../peers/receiver.ts";
import { eventually } from "../scenarios/eventually.fixture.ts";
import type { PosthornProcess } from "../scenarios/posthorn-process.fixture.ts";
import { bringAxe, forAxe, judge } from "./axe.fixture.ts";
import { assertClean, goWithin, loggedIn, watch } from "./browser.fixture.ts";
import { openStrictBrowser, startHost, type StrictBrowser } from "./portal-host.fixture.ts";
import { portalJourney } from "./portal-journey.fixture.ts";
import { everything, frameOf, type Json, PortalWorld } from "./portal-world.fixture.ts";

suite("the portal", () => {
  let world: PortalWorld;
  let server: PosthornProcess;
  let receiver: Receiver;
  let browser: Browser;
  let strict: StrictBrowser;
  let webhookId: string;

  before(async () => {
    [world, strict] = await Promise.all([PortalWorld.open(), openStrictBrowser()]);
    ({ server, receiver, browser, webhookId } = world);
  });
  afterEach(() => Promise.all([world?.closePages(), strict?.closePages()]));
  after(() => Promise.all([world?.close(), strict?.close()]));

  const call = (method: string, path: string, body?: unknown): Promise<Json> =>
    world.call(method, path, body);
  const session = (more: object = {}): Promise<Json> => world.session(more);
  const visit = (more: object = {}, path = "", options: object = {}): Promise<Page> =>
    world.visit(more, path, options);

  test("a link opens once; its code is removed from the address, and its token is not stored", async () => {
    const { url, id } = await session();
    const page = await (await browser.newContext()).newPage();
    const seen = watch(page, { origin: server.url });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(`${request.url()} ${request.headers()["referer"] ?? ""}`));
    await page.goto(String(url));
    await page.getByRole("heading", { name: "Endpoints" }).waitFor();
    await page.getByRole("link", { name: receiver.url("/first") }).waitFor();
    assert.equal(page.url(), `${server.url}/portal/?session=${String(id)}`);
    assert.equal(
      await page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length"),
      0,
    );
    const code = new URL(String(url)).hash.slice(3);
    assert.ok(
      !asked.some((one) => one.includes(code) || one.includes("phs_")),
      "neither stands in an address",
    );
    assert.ok(!server.output.includes(code) && !server.output.includes("phs_"), "neither stands in the log");
    assertClean(seen);
    const second = await (await browser.newContext({ locale: "en" })).newPage();
    await second.goto(String(url));
    await second.getByRole("heading", { name: "This link is no longer valid" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "No session" }).waitFor();
  });

  test("a revoked session is reported, and typed input stays", async () => {
    const page = await visit({ reference: "ada" }, "add");
    await page.getByLabel("Description").fill("half a sentence");
    await call("POST", "/v1/portal-sessions/revoke", { tenant_id: "acme", reference: "ada" });
    await page.getByLabel("Address").fill("https://example.com/after");
    await page.getByText("The session has ended.").first().waitFor();
    assert.equal(await page.getByLabel("Description").inputValue(), "half a sentence");
  });

  test("the end is announced two minutes ahead, and an ended session is reported", async () => {
    const page = await visit({ expires_in_seconds: 60, theme: { return_url: "https://app.example.com/" } });
    await page.getByText("The session ends in less than two minutes.").first().waitFor();
    assert.equal(
      await page.getByRole("link", { name: "Go back" }).getAttribute("href"),
      "https://app.example.com/",
    );
  });

  test("actions beyond the session's rights have no button", async () => {
    const reading = { capabilities: ["endpoints:read", "deliveries:read"] };
    const page = await visit(reading);
    assert.equal(await page.getByRole("link", { name: "Add endpoint" }).count(), 0);
    await page.getByRole("link", { name: receiver.url("/first") }).click();
    await page.getByRole("heading", { name: receiver.url("/first") }).waitFor();
    for (const name of ["Send test", "Pause", "Disable", "Delete endpoint", /missed/])
      assert.equal(await page.getByRole("button", { name }).count(), 0, String(name));
    await page.getByRole("link", { name: "Security" }).click();
    await page.getByRole("heading", { name: "Signing secret" }).waitFor();
    assert.equal(await page.getByRole("button", { name: /Show|Rotate/ }).count(), 0);
    const all = await visit(everything, `endpoints/${webhookId}`);
    for (const name of ["Send test", "Pause", "Disable", "Delete endpoint", /missed/])
      await all.getByRole("button", { name }).waitFor();
  });

  test("an operator opens the portal of a tenant read-only", async () => {
    const context = await loggedIn(browser, { url: server.url, key: server.adminKey });
    const page = await context.newPage();
    await page.goto(`${server.url}/ui/tenants`);
    const opening = context.waitForEvent("page");
    await page.getByRole("button", { name: "Open as acme" }).click();
    const portal = await opening;
    await portal.getByRole("link", { name: receiver.url("/first") }).waitFor();
    await portal.getByText("acme (read-only)").first().waitFor();
    assert.equal(await portal.getByRole("link", { name: /^Add/ }).count(), 0);
    const log = await call("GET", "/v1/audit-log?action=portal_session.create&limit=1");
    const [entry] = log["data"] as readonly { readonly actor: Json }[];
    assert.equal(entry?.actor["kind"], "dashboard_session");
  });

  test("a secret is shown only after a click, and hidden again", async () => {
    const page = await visit(everything, `endpoints/${webhookId}`);
    await page.clock.install();
    await page.getByRole("link", { name: "Security" }).click();
    assert.ok(!(await page.content()).includes("whsec_A"));
    const { secret } = (await call("GET", `/v1/webhooks/${webhookId}/secret`)) as { readonly secret: string };
    assert.ok(!(await page.content()).includes(secret));
    await page.getByRole("button", { name: "Show for 30 seconds" }).click();
    await page.getByText(secret).waitFor();
    await page.clock.runFor(31_000);
    await page.getByText("The secret is hidden again.").waitFor();
    assert.ok(!(await page.content()).includes(secret));
  });

  for (const locale of ["en", "de"] as const)
    test(`another site embeds the page in a frame, without any storage, at 360 px, with the keyboard only: ${locale}`, async () => {
      await framed(locale);
    });

  const framed = async (locale: "en" | "de") => {
    const makeSession = (origin: string) => session({ ...everything, origin, reference: "framed" });
    const host = await startHost({ portalUrl: server.url, makeSession });
    try {
      const page = await strict.context.newPage();
      await page.goto(`${host.url}?locale=${locale}`);
      const frame = await frameOf(page);
      const storage =
        '(() => { try { localStorage.length; return "open"; } catch (error) { return error.name; } })()';
      assert.equal(await frame.evaluate(storage), "SecurityError");
      await portalJourney(world, { page, frame, locale });
      const heard = await page.evaluate<readonly (readonly [string, string])[]>("heard");
      assert.ok(heard.some(([name]) => name === "endpoint-created"));
      assert.ok(heard.some(([name, path]) => name === "navigate" && path.startsWith("endpoints/")));
    } finally {
      await host.close();
    }
  };

  test("a site that the session does not name cannot embed the frame", async () => {
    const makeSession = () => session({ origin: "https://app.example.com" });
    const host = await startHost({ portalUrl: server.url, makeSession });
    try {
      const page = await strict.context.newPage();
      const refusals: string[] = [];
      page.on("console", (message) => refusals.push(message.text()));
      await page.goto(host.url);
      await page.waitForSelector("posthorn-portal iframe");
      await eventually("the frame is refused", {
        ask: async () => refusals.join("\n"),
        holds: (said) => said.includes("frame-ancestors"),
      });
      assert.equal(await page.locator("posthorn-portal iframe").contentFrame().locator("#app").count(), 0);
    } finally {
      await host.close();
    }
  });

  test("the host opens a page, chooses language and scheme, and renews the session", async () => {
    const makeSession = (origin: string) =>
      session({ origin, expires_in_seconds: 60, theme: { scheme: "host" } });
    const host = await startHost({ portalUrl: server.url, makeSession });
    try {
      const page = await strict.context.newPage();
      await page.goto(`${host.url}?path=activity&locale=de&theme=dark`);
      const frame = await frameOf(page);
      await frame.getByRole("heading", { name: "Aktivität" }).waitFor();
      assert.equal(await frame.locator("html").getAttribute("lang"), "de");
      assert.equal(await frame.locator("html").getAttribute("data-theme"), "dark");
      // A session of one minute expires soon after it starts, so the page has already requested another one from the
      // host.
      await eventually("the host is asked for another code", {
        ask: async () => host.sessions,
        holds: (sessions) => sessions >= 2,
      });
      const height = await page.locator("iframe").evaluate((element) => element.clientHeight);
      assert.ok(height > 100 && height < 5_000, String(height));
      const refused = page.waitForResponse((answer) => answer.status() === 401);
      await page.evaluate("frames[0].postMessage({ type: 'posthorn:code', code: 'x' }, '*')");
      await refused;
      await page.evaluate("document.querySelector('posthorn-portal').setAttribute('path', 'help')");
      await frame.getByRole("heading", { name: "Hilfe" }).waitFor();
      await frame.getByRole("link", { name: "Endpunkte" }).click();
      await frame.getByRole("heading", { name: "Endpunkte" }).waitFor();
      const renewed = page.waitForResponse(
        (answer) => answer.url().endsWith("/portal/session") && answer.ok(),
      );
      await frame.evaluate("parent.postMessage({ type: 'posthorn:renew' }, '*')");
      await renewed;
      await page.waitForResponse((answer) => answer.url().includes("/v1/webhooks?"));
      await page.evaluate("document.querySelector('posthorn-portal').setAttribute('theme', 'light')");
      await frame.locator("html[data-theme=light]").waitFor();
      await frame.getByRole("heading", { name: "Endpunkte" }).waitFor();
    } finally {
      await host.close();
    }
  });

  test("a host that cannot create a session is asked less and less often, and its page is not reloaded", async () => {
    let isLoggedIn = false;
    const host = await startHost({
      portalUrl: server.url,
      makeSession: (origin) =>
        isLoggedIn ? session({ ...everything, origin }) : Promise.reject(new Error("nobody is logged in")),
    });
    try {
      const page = await (await browser.newContext({ locale: "en" })).newPage();
      await page.goto(`${host.url}?reloads`);
      await page.getByText("The portal cannot be opened right now.").waitFor();
      await eventually("the host is asked again", {
        ask: () => page.evaluate<readonly (readonly [string, string])[]>("heard"),
        holds: (heard) => heard.filter(([name]) => name === "session-failed").length === 3,
      });
      assert.deepEqual([host.loads, host.sessions], [1, 3]);
      assert.equal(await page.locator("posthorn-portal iframe").count(), 0);
      isLoggedIn = true;
      await page.getByRole("button", { name: "Try again" }).click();
      await (await frameOf(page)).getByRole("heading", { name: "Endpoints" }).waitFor();
      assert.equal(await page.getByText("The portal cannot be opened right now.").count(), 0);
    } finally {
      await host.close();
    }
  });

  test("a page that reloads when its session ends does so once a minute, however often sessions end", async () => {
    const makeSession = (origin: string) => session({ ...everything, origin });
    const host = await startHost({ portalUrl: server.url, makeSession });
    try {
      const page = await (await browser.newContext({ locale: "en" })).newPage();
      await page.goto(`${host.url}?reloads`);
      const end = async () => {
        const frame = await frameOf(page);
        await frame.getByRole("heading", { name: "Endpoints" }).waitFor();
        await frame.evaluate("parent.postMessage({ type: 'posthorn:session-ended' }, '*')");
      };
      const again = page.waitForEvent("load");
      await end();
      await again;
      assert.equal(host.loads, 2);
      await end();
      const frame = await frameOf(page);
      await frame.evaluate("parent.postMessage({ type: 'posthorn:navigate', path: 'after-the-end' }, '*')");
      await eventually("what came after the end is heard", {
        ask: () => page.evaluate<readonly (readonly [string, string])[]>("heard"),
        holds: (heard) => heard.some(([, path]) => path === "after-the-end"),
      });
      const heard = await page.evaluate<readonly (readonly [string, string])[]>("heard");
      assert.equal(heard.filter(([name]) => name === "session-ended").length, 0);
      assert.equal(host.loads, 2);
    } finally {
      await host.close();
    }
  });

  test("a frame accepts messages only from its host, and copies whether or not the browser permits it", async () => {
    const makeSession = (origin: string) => session({ ...everything, origin });
    const host = await startHost({ portalUrl: server.url, makeSession });
    try {
      const context = await browser.newContext({ locale: "en" });
      const page = await context.newPage();
      await page.goto(`${host.url}?path=endpoints/${webhookId}?tab=security`);
      const frame = await frameOf(page);
      await frame.getByRole("heading", { name: receiver.url("/first") }).waitFor();
      // The frame itself sends this message, not its parent.
      await frame.evaluate("window.postMessage({ type: 'posthorn:path', path: 'help' }, '*')");
      await frame.getByRole("button", { name: "Show for 30 seconds" }).click();
      await frame.getByText(/^whsec_/).waitFor();
      assert.equal(await frame.getByRole("heading", { name: "Help" }).count(), 0);
      await frame.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('denied'))");
      const copied = frame.evaluate<string>(
        "new Promise((resolve) => document.addEventListener('copy', () => resolve(String(document.activeElement?.value ?? '')), { once: true }))",
      );
      await frame.getByRole("button", { name: "Copy secret" }).click();
      assert.match(await copied, /^whsec_/);
    } finally {
      await host.close();
    }
  });

  test("any of twelve accents is readable, on the background and on a button, in both schemes", async () => {
    for (const accent of [
      "#ffdd00",
      "#ff0066",
      "#101010",
      "#fafafa",
      "#00cc88",
      "#7a3cff",
      "#0b63ce",
      "#808080",
      "#ff0000",
      "#00ffff",
      "#8b4513",
      "#336600",
    ]) {
      const product_name = "Ein sehr langer Produktname GmbH & Co. KG";
      const page = await visit({ theme: { accent, product_name } });
      const link = page.getByRole("link", { name: receiver.url("/first") });
      await link.waitFor();
      const button = page.getByRole("link", { name: "Add endpoint" });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        for (const [what, element, ground] of [
          ["link", link, page.locator(".card").first()],
          ["button", button, button],
        ] as const) {
          const text = await colourOf(element, "color");
          const behind = await colourOf(ground, "background-color");
          assert.ok(
            contrast([text, behind]) >= contrastMin,
            `${what} ${accent} ${colorScheme}: ${text} on ${behind}`,
          );
        }
      }
      await page.context().close();
    }
  });

  const judgeAt = async (page: Page, path: string): Promise<void> => {
    await page.getByText(/^(Loading|Wird geladen) …$/).waitFor({ state: "detached" });
    await judge(page, `/portal/${path} in ${await page.locator("html").getAttribute("lang")}`);
  };

  test("axe finds nothing on any page, wide and light, narrow and dark, in English and German", async () => {
    const [delivery] = (await call("GET", `/v1/webhooks/${webhookId}/deliveries`))["data"] as readonly Json[];
    for (const locale of ["en", "de"]) {
      const page = await visit({ ...everything, locale }, "", forAxe);
      await bringAxe(page);
      await judgeAt(page, "");
      for (const path of [
        "add",
        `endpoints/${webhookId}`,
        "activity",
        "notifications",
        `messages/${String(delivery?.["event_id"])}`,
        "event-types",
        "help",
      ]) {
        const before = await page.locator("h1").textContent();
        await goWithin(page, `/portal/${path}${new URL(page.url()).search}`);
        await page
          .locator("h1")
          .filter({ hasNotText: before ?? "" })
          .waitFor();
        await judgeAt(page, path);
      }
      assert.equal(await page.locator("html").getAttribute("lang"), locale);
      await page.context().close();
    }
    const page = await visit(everything, `endpoints/${webhookId}`, forAxe);
    await bringAxe(page);
    for (const tab of ["Settings", "Security"]) {
      await page.getByRole("link", { name: tab }).click();
      await judge(page, tab);
    }
    await page.getByRole("button", { name: "Delete endpoint" }).click();
    await page.getByRole("dialog").waitFor();
    await judge(page, "dialog");
  });

  test("a warning is shown for a receiver that checks no signature", async () => {
    receiver.script(() => ({}));
    const page = await visit(everything, "help");
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await page.getByText(/rules? failed/).waitFor();
    await page.getByText("refuses an altered body").waitFor();
    await page.getByRole("button", { name: "Python" }).click();
    await page.getByText(/from standardwebhooks\.webhooks import Webhook/).waitFor();
  });

  test("foreign content is shown as text", async () => {
    const hostile = `</script><script>document.title="owned"</script><img src=x onerror="document.title='owned'">\u202e`;
    receiver.script(() => ({ status: 500, body: hostile }));
    const event = { tenant_id: "acme", event_type: "order.paid", data: { hostile } };
    const { id } = await call("POST", "/v1/events", event);
    const page = await visit(everything, `messages/${String(id)}`);
    const seen = watch(page, { origin: server.url });
    await page
      .getByText(/document\.title=/)
      .nth(1)
      .waitFor();
    assert.ok(!(await page.title()).includes("owned"));
    assert.equal(await page.locator("img").count(), 0);
    assertClean(seen);
    receiver.script(() => ({}));
  });
});

/** Returns the color as six hexadecimal digits. */
async function colourOf(element: Locator, property: "color" | "background-color"): Promise<string> {
  const text = await element.evaluate(
    (one, name) => one.ownerDocument.defaultView?.getComputedStyle(one).getPropertyValue(name) ?? "",
    property,
  );
  const parts: readonly string[] = text.match(/\d+/g)?.slice(0, 3) ?? [];
  return `#${parts.map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
}
