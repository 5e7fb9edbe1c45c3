import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { suite, test } from "node:test";
import { posthorn, temporaryFolder } from "./command-line.fixture.ts";

suite("posthorn demo", () => {
  test("shows a retry and its history within 15 seconds, and leaves nothing behind", async () => {
    using folder = temporaryFolder();
    const startedAt = performance.now();
    const { status, stdout, stderr } = await posthorn(["demo"], {
      cwd: folder.path,
      env: { TMPDIR: folder.path },
    });
    assert.equal(status, 0, stderr);
    assert.ok(performance.now() - startedAt < 150_000);
    assert.match(stdout, /responds with 503, Retry-After: 1/);
    assert.match(stdout, /signature verified {2}answers 200/);
    assert.match(stdout, /waiting for: (schedule|retry_after)/);
    assert.match(stdout, /^1 .* transient +503 .*\n2 .* accepted +200 /m);
    assert.equal(stderr, "");
    assert.deepEqual(readdirSync(folder.path), []);
  });

  test("prints one JSON object a line for programs", async () => {
    const { stdout } = await posthorn(["demo", "--json"]);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.ok(lines.some((line) => line["what"] === "history"));
  });
});
