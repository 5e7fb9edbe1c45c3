// Installs missing packages, then runs a script on the project's own Node:
//
//   node scripts/with-runtime.mjs [node options] SCRIPT [arguments]
//
// Every npm script starts here. On a new clone only the system's Node exists, so this file is plain JavaScript for Node
// 20. Messages go to standard error, because standard output is reserved for the script.
//
// The commands of the program need fewer packages than the checks: `dependencies`, and the development dependencies in
// running-packages.json (Node, and the packages that bundle and run the pages at /ui). The first `npm test` installs the
// others.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import { delimiter, join, resolve, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

const exitNotInstalled = 69;
const isWindows = process.platform === "win32";
const root = resolve(fileURLToPath(new URL("..", import.meta.url)));
const modules = join(root, "node_modules");
const runtime = join(modules, "node", "bin", isWindows ? "node.exe" : "node");
const scriptArguments = process.argv.slice(2);
const isProgram = scriptArguments.find((argument) => !argument.startsWith("-")) === "src/cli/main.ts";

if (!isInstalled()) await installOnce();
await runOnProjectNode();

// ---- installing --------------------------------------------------------------------------------------------------

/**
 * npm writes its record of node_modules last, so a complete and current record means a complete installation. A plain
 * `npm install` counts as well.
 */
function isInstalled() {
  const wanted = packagesIn(join(root, "package-lock.json"));
  const present = packagesIn(join(modules, ".package-lock.json"));
  if (wanted === undefined) fail("package-lock.json is missing or unreadable; restore it from git");
  if (present === undefined || !existsSync(runtime)) return false;
  const isCurrent = ([path, { version, integrity, optional }]) =>
    // npm omits optional packages of other platforms.
    present[path] === undefined
      ? optional === true
      : present[path].version === version && present[path].integrity === integrity;
  const locked = Object.entries(wanted).filter(([path]) => path !== "");
  if (!isProgram) return locked.every(isCurrent);
  const needed = new Set(Object.keys(runningDependencies()).map((name) => `node_modules/${name}`));
  return locked.filter(([path]) => needed.has(path) || present[path] !== undefined).every(isCurrent);
}

function packagesIn(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages;
  } catch {
    return undefined;
  }
}

function runningDependencies() {
  const { dependencies, devDependencies } = readJson("package.json");
  const names = readJson("scripts/running-packages.json");
  return { ...dependencies, ...Object.fromEntries(names.map((name) => [name, devDependencies[name]])) };
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}

/** If two commands start at the same time, the second waits for the installation of the first. */
async function installOnce() {
  const owner = typeof process.getuid === "function" ? process.getuid() : "user";
  const key = createHash("sha256").update(root).digest("hex").slice(0, 16);
  // node_modules may not exist yet.
  const lock = join(tmpdir(), `posthorn-install-${owner}-${key}`);
  for (let announced = false; !tryToLock(lock); announced = true) {
    const holder = holderOf(lock);
    if (holder !== undefined && !isAlive(holder)) rmSync(lock, { force: true });
    else if (!announced) say(`waiting for another installation of the dependencies (process ${holder})`);
    await sleep(250);
  }
  const release = () => rmSync(lock, { force: true });
  process.once("exit", release);
  if (!isInstalled()) await install();
  release();
}

function tryToLock(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  }
}

function holderOf(lock) {
  try {
    return Number(readFileSync(lock, "utf8"));
  } catch {
    return undefined;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

async function install() {
  // Development packages that are already installed are kept.
  const isPart = isProgram && !existsSync(join(modules, "typescript"));
  say(
    isPart
      ? "installing what running takes: about 190 MB into node_modules, once (the rest comes with npm test)"
      : "installing dependencies: about 540 MB into node_modules, once; usually half a minute",
  );
  const startedAt = Date.now();
  const seconds = () => ((Date.now() - startedAt) / 1000).toFixed(0);
  const place = isPart ? prepareProgram() : root;
  const stop = showProgress(
    () => `  ${seconds()} s, ${countPackages(join(place, "node_modules"))} packages so far`,
  );
  // With NODE_ENV=production, npm would omit the Node package that runs everything.
  const { code, signal } = await run("npm", ["ci", "--include=dev", "--loglevel=error"], {
    stdio: ["ignore", 2, 2],
    shell: isWindows,
    cwd: place,
    env: { ...process.env, PATH: pathWithoutProject() },
  });
  stop();
  if (code === 0) trim(isPart ? join(place, "node_modules") : join(modules, "node"));
  if (isPart && code === 0) {
    rmSync(modules, { recursive: true, force: true });
    renameSync(join(place, "node_modules"), modules);
  }
  if (isPart) rmSync(place, { recursive: true, force: true });
  if (signal !== null) process.kill(process.pid, signal);
  if (code !== 0)
    fail(
      "installing the dependencies failed.\n" +
        "  npm must be on the PATH and reach its registry (npm config get registry).\n" +
        "  Run `npm ci` to see the whole error, then repeat your command.",
    );
  if (!existsSync(runtime))
    fail(
      `the project's Node is missing (${runtime}), although npm reported success.\n` +
        "  Install scripts are probably disabled (npm config get ignore-scripts).\n" +
        "  Run `npm rebuild node --ignore-scripts=false`, then repeat your command.",
    );
  if (!isInstalled())
    fail(
      "package-lock.json and package.json do not agree.\n" +
        "  Run `npm install`, commit package-lock.json, then repeat your command.",
    );
  say(`installed in ${seconds()} s`);
}

/**
 * Prepares a temporary project with fewer dependencies and the same lock file. npm ignores the other entries of the
 * lock file.
 */
function prepareProgram() {
  const place = join(root, `.installing-${process.pid}`);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
  const { name, version, allowScripts } = readJson("package.json");
  const manifest = { name, version, allowScripts, dependencies: runningDependencies() };
  writeFileSync(join(place, "package.json"), JSON.stringify(manifest));
  for (const file of ["package-lock.json", ".npmrc"]) copyFileSync(join(root, file), join(place, file));
  return place;
}

/**
 * Removes C headers, source maps, documentation and tests of packages, which are a third of the installation and are
 * not used.
 */
function trim(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const isUnused = entry.isDirectory()
      ? /^(include|tests?|examples?|benchmarks?)$/.test(entry.name) &&
        existsSync(join(folder, "package.json"))
      : /\.(map|md)$/.test(entry.name);
    if (isUnused) rmSync(path, { recursive: true });
    else if (entry.isDirectory()) trim(path);
  }
}

/** Shows progress: on a terminal by updating one line, elsewhere by writing a line every few seconds. */
function showProgress(text) {
  const { isTTY } = process.stderr;
  const show = () => (isTTY ? process.stderr.write(`\r\u001b[2K${text()}`) : say(text()));
  const timer = setInterval(show, isTTY ? 500 : 5_000);
  return () => {
    clearInterval(timer);
    if (isTTY) process.stderr.write("\r\u001b[2K");
  };
}

function countPackages(folder) {
  if (!existsSync(folder)) return 0;
  const names = readdirSync(folder).filter((name) => !name.startsWith("."));
  return names.reduce(
    (sum, name) => sum + (name.startsWith("@") ? readdirSync(join(folder, name)).length : 1),
    0,
  );
}

/** PATH without the project's folder. npm may replace the Node in node_modules, so npm must not run on that Node. */
function pathWithoutProject() {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !resolve(folder).startsWith(modules + sep))
    .join(delimiter);
}

// ---- running -----------------------------------------------------------------------------------------------------

async function runOnProjectNode() {
  const once = pathToFileURL(join(root, "scripts", "signals-once.mjs")).href;
  const command = ["--conditions=posthorn-source", `--import=${once}`, ...scriptArguments];
  const env = { ...process.env, PATH: join(modules, ".bin") + delimiter + pathWithoutProject() };
  if (typeof process.execve === "function" && !isWindows) {
    // Usually npm has put the project's Node first in the PATH, so this process can run the script itself.
    process.emitWarning = () => {};
    process.execve(runtime, [runtime, ...command], env);
  }
  const { code, signal } = await run(runtime, command, { stdio: "inherit", env });
  if (signal === null) process.exit(code);
  process.kill(process.pid, signal);
  process.exit(128 + constants.signals[signal]);
}

/** Resolves when the program has exited. Signals are forwarded to the program and do not end this process before it. */
function run(program, args, options) {
  return new Promise((done) => {
    const child = spawn(program, args, options);
    const forwarders = ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => [name, () => child.kill(name)]);
    for (const [name, forward] of forwarders) process.on(name, forward);
    const finish = (result) => {
      for (const [name, forward] of forwarders) process.off(name, forward);
      done(result);
    };
    child.once("error", (error) => {
      say(`cannot run ${program}: ${error.message}`);
      finish({ code: 1, signal: null });
    });
    child.once("close", (code, signal) => finish({ code, signal }));
  });
}

function say(message) {
  process.stderr.write(`posthorn: ${message}\n`);
}

function fail(message) {
  say(message);
  process.exit(exitNotInstalled);
}
