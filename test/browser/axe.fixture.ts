/** Checks the accessibility rules and the width of a page with axe. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/**
 * Options for the browser context. axe must be injected despite the page's content security policy, which other tests
 * check.
 */
export const forAxe = { bypassCSP: true, reducedMotion: "reduce" } as const;

/** Injects axe. Must be repeated after each document load. */
export async function bringAxe(page: Page): Promise<void> {
  await page.addScriptTag({ path: axePath });
}

/**
 * Checks the page twice: wide with the light scheme, and narrow with the dark scheme. axe must not report any
 * violation, and no element may be wider than the window.
 */
export async function judge(page: Page, what: string): Promise<void> {
  for (const [colorScheme, width] of [
    ["light", 1_280],
    ["dark", 360],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await findings(page), [], `${colorScheme} ${what}`);
    assert.deepEqual(await tooWide(page), [], `${what} is wider than ${width}`);
  }
}

/**
 * Passed rules are not collected, because on a page with many rows, collecting and transferring them costs more than
 * checking the rules.
 */
const run = `axe
  .run({
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    resultTypes: ["violations"],
  })
  .then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 160)).join(" | ")),
  )`;

/** Elements that extend beyond the window, innermost last. */
const wide = `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("body *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth)
  .map((one) => Math.round(one.getBoundingClientRect().right - innerWidth) + " px: " + one.outerHTML.slice(0, 160))`;

function tooWide(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(wide);
}

function findings(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(run);
}
