/** The packages that `npm start` installs on a fresh clone are exactly those needed to run. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { runningLock, runningManifest, runningNames, runningPaths } from "../../scripts/running-packages.mjs";
import { root } from "./built-package.ts";

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dependencies?: Readonly<Record<string, string>> }>>;
}

const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};

/** Packages imported by files that run, except for types. */
function imported(folder: string): readonly string[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  const code = files.filter((path) => /\.tsx?$/.test(path) && !/\.(test|fixture)\./.test(path));
  return code.flatMap((path) =>
    [...readFileSync(join(root, folder, path), "utf8").matchAll(/^import (?!type)[^;]*?"([@a-z][^"]*)"/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => !isBuiltin(name))
      .map((name) =>
        name
          .split("/")
          .slice(0, name.startsWith("@") ? 2 : 1)
          .join("/"),
      ),
  );
}

test("it has everything that the server, its pages and their bundler import", () => {
  const there = new Set([...Object.keys(manifest.dependencies), ...runningNames]);
  // Code that pages show but do not run.
  const shown = new Set(["@posthorn/receiver"]);
  const missing = [...imported("src"), ...imported("dashboard"), "esbuild", "node"].filter(
    (name) => !there.has(name) && !shown.has(name),
  );
  assert.deepEqual(missing, []);
});

test("it has all dependencies of these, and no development tools", () => {
  const { packages } = runningLock(lock) as Lock;
  const paths = runningPaths(lock.packages);
  for (const [path, { dependencies }] of Object.entries(packages)) {
    for (const name of Object.keys(dependencies ?? {}))
      assert.ok(
        [`${path}/node_modules/${name}`, `node_modules/${name}`].some((one) => paths.has(one)),
        `${path}: ${name}`,
      );
  }
  const tools = ["typescript", "oxlint", "@biomejs/biome", "stripe", "playwright-core", "fast-check"];
  for (const name of tools) assert.equal(paths.has(`node_modules/${name}`), false, name);
});

test("the versions are those of the project", () => {
  const { dependencies } = runningManifest(manifest) as typeof manifest;
  for (const [name, version] of Object.entries(dependencies))
    assert.equal(version, manifest.dependencies[name] ?? manifest.devDependencies[name], name);
});
