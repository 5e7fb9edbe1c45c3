/** The scripts of package.json run in any shell, and a signal sent to npm reaches the program. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./built-package.fixture.ts";

test("scripts use only what every shell has, not only a POSIX shell", () => {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  for (const [name, script] of Object.entries(scripts)) {
    assert.match(script, /^(node|npm) [\w ./:@=-]+$/, name);
    assert.doesNotMatch(script, /\bexec\b/, name);
  }
});

test("a program stops gracefully when the shell that npm started it with is ended", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-npm-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const script = join(folder, "waits.mjs");
  writeFileSync(
    script,
    `process.on("SIGTERM", () => { console.log("stopped gracefully"); process.exit(0); });
     setInterval(() => undefined, 1000);
     console.log("running");`,
  );
  // Because of the second command, the shell cannot replace itself with the first one.
  const shell = spawn("sh", ["-c", `node scripts/with-runtime.mjs ${script}; true`], {
    cwd: root,
    env: { ...process.env, npm_lifecycle_event: "start" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  const stopped = Promise.withResolvers<null>();
  const running = Promise.withResolvers<null>();
  shell.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    if (output.includes("running")) running.resolve(null);
    if (output.includes("stopped gracefully")) stopped.resolve(null);
  });
  await running.promise;
  const exited = once(shell, "exit");
  shell.kill("SIGTERM");
  await exited;
  await stopped.promise;
});
