/** Accessibility rules and widths of a page, by axe. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** The context has to be opened with this: axe comes in past the page's own policy, which other tests hold it to. */
export const forAxe = { bypassCSP: true, reducedMotion: "reduce" } as const;

/** Has to be said again after each load of a document. */
export async function bringAxe(page: Page): Promise<void> {
  await page.addScriptTag({ path: axePath });
}

/** Wide and light, narrow and dark: axe finds nothing, and nothing is wider than the window. */
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

/** What passes is neither gathered nor sent over: of a page with many rows that costs more than the rules themselves. */
const run = `axe
  .run({
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    resultTypes: ["violations"],
  })
  .then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 160)).join(" | ")),
  )`;

/** What reaches past the window while the document does, the innermost ones last. */
const wide = `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("body *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth)
  .map((one) => Math.round(one.getBoundingClientRect().right - innerWidth) + " px: " + one.outerHTML.slice(0, 160))`;

function tooWide(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(wide);
}

function findings(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(run);
}
