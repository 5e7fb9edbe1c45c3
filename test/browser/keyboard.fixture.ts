import assert from "node:assert/strict";
import type { Frame, Page } from "playwright-core";

/** Simulates a keyboard user, in a frame or in the page itself. */
export class Keyboard {
  readonly #page: Page;
  readonly #frame: Frame;

  constructor(page: Page, frame: Frame) {
    this.#page = page;
    this.#frame = frame;
  }

  async press(role: "link" | "button" | "checkbox", name: string, key = "Enter"): Promise<void> {
    await this.#reach(role, name);
    await this.#page.keyboard.press(key);
  }

  async type(role: "textbox", name: string, text: string): Promise<void> {
    await this.#reach(role, name);
    await this.#page.keyboard.press("Control+A");
    await this.#page.keyboard.insertText(text);
  }

  /** Presses Tab until the element has the focus, cycling through the page once if needed. */
  async #reach(role: "link" | "button" | "checkbox" | "textbox", name: string): Promise<void> {
    const target = this.#frame.getByRole(role, { name, exact: true }).first();
    await target.waitFor();
    for (let tabs = 0; tabs < 120; tabs += 1) {
      if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return;
      await this.#page.keyboard.press("Tab");
    }
    assert.fail(`${role} "${name}" cannot be reached with Tab`);
  }
}
