import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

const folder = join(import.meta.dirname, "golden", "traces");
const seeds = 7;

/** Runs in a separate process: node:test tracks every promise of a world, which costs more than the world itself. */
test(`the first ${seeds} simulated worlds have the golden traces`, async () => {
  const mode = process.env["POSTHORN_UPDATE_FROZEN"] === "1" ? "--traces" : "--compare";
  const script = join(import.meta.dirname, "..", "simulation", "run.ts");
  const args = ["--conditions=posthorn-source", script, "--seeds", String(seeds), mode, folder];
  const { promise, resolve } = Promise.withResolvers<string | null>();
  execFile(process.execPath, args, (error, _, stderr) => resolve(error === null ? null : stderr));
  assert.equal(await promise, null);
});
