import assert from "node:assert/strict";
import type { Frame, Page } from "playwright-core";
import { Keyboard } from "./keyboard.fixture.ts";
import { type PortalWorld, wordsOf } from "./portal-world.fixture.ts";

/**
 * Uses only Tab and Enter, and runs in each language: add an endpoint, see the test event, break the endpoint, read why
 * it failed, fix it, and see it recover.
 */
export async function portalJourney(
  world: PortalWorld,
  on: { readonly page: Page; readonly frame: Frame; readonly locale: "en" | "de" },
): Promise<void> {
  const { receiver } = world;
  const { page, frame, locale } = on;
  const words = wordsOf(locale);
  const path = `/mine-${locale}`;
  const keys = new Keyboard(page, frame);
  const shown = (text: string | RegExp) => frame.getByText(text).first().waitFor();
  await keys.press("link", words("noun.endpoint.add"));
  await frame.getByRole("heading", { name: words("noun.endpoint.add") }).waitFor();
  await keys.type("textbox", words("field.url"), "http://10.0.0.1/inside");
  await shown(words("url.address"));
  await keys.type("textbox", words("field.url"), receiver.url(path));
  await shown(words("field.url.ok"));
  await keys.press("checkbox", "order.paid An order was paid.", "Space");
  await keys.press("button", words("noun.endpoint.add"));
  await frame.getByRole("heading", { name: words("made.title") }).waitFor();
  await shown(/^whsec_/);
  await keys.press("button", words("test.send"));
  await shown(words("test.accepted"));
  const width = "document.documentElement.scrollWidth - innerWidth";
  assert.ok(Number(await frame.evaluate(width)) <= 0, "nothing is wider than the frame");

  receiver.script(() => ({ status: 410, body: "<b>gone</b>" }));
  await world.publishTo(path);
  await keys.press("link", words("noun.endpoint.title.one"));
  await shown(words("wrong.off.gone"));

  receiver.script(() => ({}));
  await keys.press("button", words("action.enable"));
  await keys.press("button", words("recover.title"));
  await shown(words("recover.count.one").replace("{count}", "1"));
  const before = receiver.requestCount;
  await keys.press("button", words("recover.start"));
  await shown(
    words("recover.outcome").replace("{delivered}", "1").replace("{failed}", "0").replace("{waiting}", "0"),
  );
  await receiver.waitUntil(() => receiver.requestCount > before);
  await page.keyboard.press("Escape");
  await frame.getByText(words("state.ok"), { exact: true }).first().waitFor();
  assert.equal(await frame.locator("html").getAttribute("lang"), locale);
}
