/**
 * What happens when a user runs a clone whose packages are not installed yet. The test's npm waits and fails on
 * command.
 */
import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { eventually } from "../scenarios/eventually.fixture.ts";
import runningPackages from "../../scripts/running-packages.json" with { type: "json" };
import { root } from "./built-package.fixture.ts";

const clonedFiles = [
  "package.json",
  "package-lock.json",
  ".npmrc",
  "scripts/with-runtime.mjs",
  "scripts/running-packages.json",
];

/** A fake npm. It installs two packages, and exits once the file `npm-may-end` exists. */
const npm = `#!/bin/sh
mkdir -p node_modules/fastify node_modules/@posthorn/receiver
echo "$@" >> "$CLONE/npm-calls"
cp package.json "$CLONE/npm-manifest.json"
while [ ! -e "$CLONE/npm-may-end" ]; do sleep 0.05; done
echo "npm error code ENOTFOUND" >&2
exit 1
`;

let clone = "";
let started: Start[] = [];

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), "posthorn-installation-"));
  mkdirSync(join(clone, "scripts"));
  mkdirSync(join(clone, "programs"));
  for (const path of clonedFiles) copyFileSync(join(root, path), join(clone, path));
  writeFileSync(join(clone, "programs", "npm"), npm, { mode: 0o755 });
  started = [];
});
afterEach(async () => {
  npmMayEnd();
  for (const { ended } of started) await ended;
  rmSync(clone, { recursive: true, force: true });
});

test("it says what is installed, reports progress every few seconds, and says what to do when npm fails", async () => {
  const start = startOf("scripts/test.ts");
  await says(start, /installing dependencies: about \d+ MB into node_modules, once/);
  await says(start, /^posthorn: +\d+ s, 2 packages so far\n[^]*^posthorn: +\d+ s, 2 packages so far\n/m);
  npmMayEnd();
  assert.equal(await start.ended, 69);
  assert.match(start.said(), /ENOTFOUND[^]*installing the dependencies failed/);
  assert.match(start.said(), /Run `npm ci` to see the whole error, then repeat your command/);
  assert.equal(npmCalls().length, 1);
});

test("a command of the program installs what it needs, and leaves nothing incomplete", async () => {
  const there = readdirSync(clone);
  const start = startOf("src/cli/main.ts");
  await says(start, /installing what running takes: about \d+ MB .* \(the rest comes with npm test\)/);
  npmMayEnd();
  assert.equal(await start.ended, 69);
  const more = ["npm-calls", "npm-manifest.json", "npm-may-end"];
  assert.deepEqual(readdirSync(clone).toSorted(), [...there, ...more].toSorted());
  const whole = manifestAt("package.json");
  const { dependencies, devDependencies } = manifestAt("npm-manifest.json");
  assert.equal(devDependencies, undefined);
  const names = [...Object.keys(whole.dependencies), ...runningPackages];
  const versions = { ...whole.devDependencies, ...whole.dependencies };
  assert.deepEqual(dependencies, Object.fromEntries(names.map((name) => [name, versions[name]])));
});

test("of two concurrent starts the second waits for the installation of the first, and says so", async () => {
  const first = startOf("scripts/test.ts");
  await eventually("npm is called", {
    ask: () => Promise.resolve(npmCalls()),
    holds: (calls) => calls.length > 0,
  });
  const second = startOf("scripts/test.ts");
  await says(second, new RegExp(`waiting for another installation .*\\(process ${first.child.pid ?? ""}\\)`));
  assert.equal(npmCalls().length, 1);
  npmMayEnd();
  // The first installation has failed, so the second process tries to install the packages too.
  assert.deepEqual([await first.ended, await second.ended], [69, 69]);
  assert.equal(npmCalls().length, 2);
});

test("running takes what the server, its pages and their bundler import", () => {
  const manifest = manifestAt("package.json");
  const there = new Set([...Object.keys(manifest.dependencies), ...runningPackages]);
  // Documentation pages may show code that imports this package, but they do not run it.
  there.add("@posthorn/receiver");
  const used = [...imported("src"), ...imported("dashboard"), "esbuild", "node"];
  assert.deepEqual(
    used.filter((name) => !there.has(name)),
    [],
  );
});

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function manifestAt(path: string): Manifest {
  return JSON.parse(readFileSync(join(clone, path), "utf8")) as Manifest;
}

/** The packages that the files in a folder import. Type imports and tests are not included. */
function imported(folder: string): readonly string[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  const code = files.filter((path) => /\.tsx?$/.test(path) && !/\.(test|fixture)\./.test(path));
  return code.flatMap((path) =>
    [...readFileSync(join(root, folder, path), "utf8").matchAll(/^import (?!type)[^;]*?"([@a-z][^"]*)"/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => !isBuiltin(name))
      .map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name),
  );
}

interface Start {
  readonly child: ChildProcessWithoutNullStreams;
  /** Standard error output so far. */
  said(): string;
  readonly ended: Promise<unknown>;
}

function startOf(script: string): Start {
  const PATH = [join(clone, "programs"), process.env["PATH"] ?? ""].join(delimiter);
  const child = spawn(process.execPath, ["scripts/with-runtime.mjs", script], {
    cwd: clone,
    env: { ...process.env, PATH, CLONE: clone },
  });
  let text = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  const start = { child, said: () => text, ended: once(child, "close").then(([status]): unknown => status) };
  started.push(start);
  return start;
}

async function says({ said }: Start, what: RegExp): Promise<void> {
  await eventually(`it says ${what.source}`, {
    ask: () => Promise.resolve(said()),
    holds: (text) => what.test(text),
  });
}

function npmMayEnd(): void {
  writeFileSync(join(clone, "npm-may-end"), "");
}

function npmCalls(): readonly string[] {
  const path = join(clone, "npm-calls");
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
}
