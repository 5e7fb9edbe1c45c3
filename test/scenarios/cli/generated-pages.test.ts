import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { posthorn } from "./command-line.fixture.ts";

const pages = [
  { file: "docs/configuration.md", flag: "--docs" },
  { file: "docs/cli.md", flag: "--commands" },
  { file: "docs/profiles.md", flag: "--profiles" },
  { file: "docs/check.md", flag: "--checks" },
  { file: "docs/operational-events.md", flag: "--operational-events" },
] as const;

suite("generated pages", () => {
  for (const { file, flag } of pages) {
    test(`${file} equals the output of posthorn config ${flag}`, async () => {
      const { status, stdout } = await posthorn(["config", flag]);
      assert.equal(status, 0);
      const stored = readFileSync(new URL(`../../../${file}`, import.meta.url), "utf8");
      assert.equal(stdout, stored, `run: npm run --silent posthorn -- config ${flag} > ${file}`);
    });
  }
});
