/** Chromium on this machine, configured not to send any requests except those of the pages. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { chromium } from "playwright-core";
import type { Browser, BrowserContext, Page } from "playwright-core";

/** Debian's path, used for runs outside `npm test`. */
const chromiumPath = process.env["POSTHORN_TEST_CHROMIUM"] ?? "/usr/bin/chromium";
/** The same engine without a window system, if it is installed. It needs half the CPU time per page. */
const headlessShellPath = join(dirname(chromiumPath), "chromium-headless-shell");

/**
 * Features to disable. The first ones are those that Playwright disables and that matter for these tests, because our
 * list replaces Playwright's. The next one would start a spare renderer for the next page. The last ones are lists
 * below the address bar. The bar is invisible here, but they would start a separate renderer for each window, and use
 * more CPU time than a dashboard page.
 */
const disabledFeatures = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  "SpareRendererForSitePerProcess",
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
];

/**
 * Ends a test that will never pass. On a busy machine, pages take longer than Playwright's default of half a minute.
 */
const patientMs = 200_000;

export async function openBrowser(): Promise<Browser> {
  const isHeadless = existsSync(headlessShellPath);
  const browser = await chromium.launch({
    ...browserOptions(),
    ...(isHeadless && { executablePath: headlessShellPath }),
    timeout: patientMs,
  });
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    context.setDefaultTimeout(patientMs);
    return context;
  };
  return browser;
}

/** Launch options for the full browser. */
export function browserOptions() {
  return {
    executablePath: chromiumPath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
      `--disable-features=${disabledFeatures.join(",")}`,
    ],
  };
}

/** Problems that must never occur on a page, recorded from the time it opens. */
export interface Watch {
  /** Requests to other servers. */
  readonly foreign: string[];
  /** Violations of the content security policy, and uncaught errors. */
  readonly complaints: string[];
}

export function watch(page: Page, { origin }: { readonly origin: string }): Watch {
  const seen: Watch = { foreign: [], complaints: [] };
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith("data:")) seen.foreign.push(url);
  });
  page.on("pageerror", (error) => seen.complaints.push(String(error)));
  page.on("console", (message) => {
    if (/Content Security Policy|TrustedHTML|Trusted Type/i.test(message.text()))
      seen.complaints.push(message.text());
  });
  return seen;
}

export function assertClean({ foreign, complaints }: Watch): void {
  assert.deepEqual(foreign, [], "no request leaves the server");
  assert.deepEqual(complaints, [], "no policy refused anything, and no error was uncaught");
}

/** A separate browser context that is logged in with a key. */
export async function loggedIn(
  browser: Browser,
  server: { readonly url: string; readonly key: string },
  options: Parameters<Browser["newContext"]>[0] = {},
): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL: server.url, ...options });
  const { status } = await context.request
    .post("/ui/session", { data: { key: server.key } })
    .then((response) => ({ status: response.status() }));
  assert.equal(status, 200);
  return context;
}

/** Opens another page of the same document as a link does, without reloading the document. */
export async function goWithin(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`,
  );
}

/** Opens a dashboard page and waits until its content is shown. */
export async function visitDashboard(
  context: BrowserContext,
  { url, path }: { readonly url: string; readonly path: string },
): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${url}/ui/${path}`);
  await page.locator("h1").waitFor();
  await page.locator(".waiting").first().waitFor({ state: "detached" });
  return page;
}
