import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { providerPages } from "./providers-page.ts";

const root = join(import.meta.dirname, "../..");

test("docs/gateway/providers matches the presets; `npm run providers` writes it", () => {
  const pages = providerPages();
  for (const [path, text] of pages) assert.equal(readFileSync(join(root, path), "utf8"), text, path);
  const files = readdirSync(join(root, "docs/gateway/providers")).map(
    (name) => `docs/gateway/providers/${name}`,
  );
  assert.deepEqual(files.toSorted(), [...pages.keys()].filter((path) => files.includes(path)).toSorted());
});

test("no page contains a placeholder", () => {
  for (const [path, text] of providerPages()) {
    assert.doesNotMatch(text, /\{secret\}|undefined|\[object/, path);
  }
});
