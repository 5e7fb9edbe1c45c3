// Runs a script on the project's own Node, installing what is missing first:
//
//   node scripts/with-runtime.mjs [node options] SCRIPT [arguments]
//
// A command of the program needs less than the checks: on a fresh clone it installs what running takes, and the rest comes
// with the first `npm test`.
//
// Every npm script starts here. It is plain JavaScript that Node 20 understands, because on a fresh clone the only
// Node is the system's. Standard output stays clean for the script; all messages go to standard error.
//
// node_modules is current when npm's own record of it (node_modules/.package-lock.json, which npm writes last) holds
// every package of package-lock.json. No stamp of ours is needed, and a plain `npm install` counts as well.

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
import { runningLock, runningManifest, runningPaths } from "./running-packages.mjs";

const EXIT_NOT_INSTALLED = 69;
const LOCK_POLL_MS = 250;
const PROGRESS_MS = 5_000;
const PROGRESS_LIVE_MS = 500;
const FORWARDED_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

const isWindows = process.platform === "win32";
const root = resolve(fileURLToPath(new URL("..", import.meta.url)));
const modules = join(root, "node_modules");
const isRunning = process.argv.slice(2).find((argument) => !argument.startsWith("-")) === "src/cli/main.ts";
const runtime = join(modules, "node", "bin", isWindows ? "node.exe" : "node");

if (!isInstalled()) await installOnce();
await runOnProjectNode(process.argv.slice(2));

function isInstalled() {
  const wanted = readPackages(join(root, "package-lock.json"));
  const present = readPackages(join(modules, ".package-lock.json"));
  if (wanted === undefined) fail("package-lock.json is missing or unreadable; restore it from git");
  if (present === undefined || !existsSync(runtime)) return false;
  const needed = isRunning ? runningPaths(wanted) : null;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === "" || (needed !== null && !needed.has(path))) return true;
    const installed = present[path];
    // npm leaves out optional packages that are meant for another platform.
    if (installed === undefined) return entry.optional === true;
    return installed.version === entry.version && installed.integrity === entry.integrity;
  });
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages;
  } catch {
    return undefined;
  }
}

/** Two starts at the same time share one installation: the second waits and then finds everything in place. */
async function installOnce() {
  const release = await takeLock();
  try {
    if (!isInstalled()) await install();
  } finally {
    release();
  }
}

/**
 * The lock is a folder that holds its owner's process id, put in place by one rename: renaming onto a folder that is
 * not empty fails, so there is one winner. It lies in the temporary folder, because node_modules may not exist yet.
 */
async function takeLock() {
  const owner = typeof process.getuid === "function" ? process.getuid() : "user";
  const key = createHash("sha256").update(root).digest("hex").slice(0, 16);
  const lock = join(tmpdir(), `posthorn-install-${owner}-${key}`);
  const mine = `${lock}.${process.pid}`;
  rmSync(mine, { recursive: true, force: true });
  mkdirSync(mine);
  writeFileSync(join(mine, "pid"), String(process.pid));
  for (let announced = false; ; ) {
    try {
      renameSync(mine, lock);
      const release = () => rmSync(lock, { recursive: true, force: true });
      process.once("exit", release);
      return release;
    } catch (error) {
      if (!["ENOTEMPTY", "EEXIST", "EPERM"].includes(error.code)) throw error;
    }
    const holder = readHolder(lock);
    if (holder === undefined || !isAlive(holder)) {
      removeAbandoned(lock, holder);
      continue;
    }
    if (!announced) say(`waiting for another installation of the dependencies (process ${holder})`);
    announced = true;
    await sleep(LOCK_POLL_MS);
  }
}

/** Moves the lock of a dead process away, unless somebody else has replaced it in the meantime. */
function removeAbandoned(lock, holder) {
  const aside = `${lock}.abandoned.${process.pid}`;
  try {
    renameSync(lock, aside);
  } catch {
    return;
  }
  if (readHolder(aside) === holder) rmSync(aside, { recursive: true, force: true });
  else renameSync(aside, lock);
}

function readHolder(lock) {
  try {
    return Number(readFileSync(join(lock, "pid"), "utf8"));
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
  // Where the packages of development are, they stay.
  const isPart = isRunning && !hasMoreThanRunning();
  say(
    isPart
      ? "installing what running takes: about 190 MB into node_modules, once (the rest comes with npm test)"
      : "installing dependencies: about 540 MB into node_modules, once; usually half a minute",
  );
  const startedAt = Date.now();
  const seconds = () => ((Date.now() - startedAt) / 1000).toFixed(0);
  const place = isPart ? prepareRunning() : root;
  const stop = showProgress(
    () => `  ${seconds()} s, ${countPackages(join(place, "node_modules"))} packages so far`,
  );
  // --include=dev: with NODE_ENV=production npm would leave out the Node that everything runs on.
  const { code, signal } = await run("npm", ["ci", "--include=dev", "--loglevel=error"], {
    stdio: ["ignore", 2, 2],
    shell: isWindows,
    cwd: place,
    env: { ...process.env, PATH: pathWithoutProject() },
  });
  stop();
  if (isPart && code === 0) putInPlace(place);
  if (isPart) rmSync(place, { recursive: true, force: true });
  if (signal !== null) process.kill(process.pid, signal);
  if (code !== 0) {
    fail(
      "installing the dependencies failed.\n" +
        "  npm must be on the PATH and reach its registry (npm config get registry).\n" +
        "  Run `npm ci` to see the whole error, then repeat your command.",
    );
  }
  if (!existsSync(runtime)) {
    fail(
      `the project's Node is missing (${runtime}), although npm reported success.\n` +
        "  Install scripts are probably switched off (npm config get ignore-scripts).\n" +
        "  Run `npm rebuild node --ignore-scripts=false`, then repeat your command.",
    );
  }
  if (!isInstalled()) {
    fail(
      "package-lock.json and package.json do not agree.\n" +
        "  Run `npm install`, commit package-lock.json, then repeat your command.",
    );
  }
  dropHeaders();
  if (isPart) dropWhatOnlyPeopleRead(modules);
  say(`installed in ${seconds()} s`);
}

/** What C programs are compiled with, a third of the package of Node. Nothing here is. */
function dropHeaders() {
  const parts = join(modules, "node", "node_modules");
  if (!existsSync(parts)) return;
  for (const name of readdirSync(parts).filter((one) => one.startsWith("node-")))
    rmSync(join(parts, name, "include"), { recursive: true, force: true });
}

/** Maps to sources, pages and tests of packages are a tenth of what running takes. */
function dropWhatOnlyPeopleRead(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const isRead = entry.isDirectory()
      ? /^(tests?|examples?|benchmarks?)$/.test(entry.name) && existsSync(join(folder, "package.json"))
      : /\.(map|md)$/.test(entry.name);
    if (isRead) rmSync(path, { recursive: true });
    else if (entry.isDirectory()) dropWhatOnlyPeopleRead(path);
  }
}

function hasMoreThanRunning() {
  const present = readPackages(join(modules, ".package-lock.json"));
  // Without npm's record nobody knows what is there.
  if (present === undefined) return existsSync(modules);
  const wanted = readPackages(join(root, "package-lock.json"));
  const needed = runningPaths(wanted);
  return Object.keys(present).some((path) => wanted[path] !== undefined && !needed.has(path));
}

/** A project beside this one that has what running takes, so that npm knows of nothing else. */
function prepareRunning() {
  const place = join(root, `.installing-${process.pid}`);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
  const parts = { "package.json": runningManifest, "package-lock.json": runningLock };
  for (const [name, part] of Object.entries(parts)) {
    const whole = JSON.parse(readFileSync(join(root, name), "utf8"));
    writeFileSync(join(place, name), JSON.stringify(part(whole)));
  }
  copyFileSync(join(root, ".npmrc"), join(place, ".npmrc"));
  return place;
}

function putInPlace(place) {
  rmSync(modules, { recursive: true, force: true });
  renameSync(join(place, "node_modules"), modules);
}

/** A line that is written again where somebody looks, and lines now and then elsewhere. */
function showProgress(text) {
  const { isTTY } = process.stderr;
  const timer = setInterval(
    () => (isTTY ? process.stderr.write(`\r\u001b[2K${text()}`) : say(text())),
    isTTY ? PROGRESS_LIVE_MS : PROGRESS_MS,
  );
  return () => {
    clearInterval(timer);
    if (isTTY) process.stderr.write("\r\u001b[2K");
  };
}

function countPackages(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
      .reduce(
        (sum, { name }) => sum + (name.startsWith("@") ? readdirSync(join(folder, name)).length : 1),
        0,
      );
  } catch {
    return 0;
  }
}

/** npm may replace the Node in node_modules, so it must not run on that one. */
function pathWithoutProject() {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !resolve(folder).startsWith(modules + sep))
    .join(delimiter);
}

async function runOnProjectNode(args) {
  const once = pathToFileURL(join(root, "scripts", "signals-once.mjs")).href;
  const command = ["--conditions=posthorn-source", `--import=${once}`, ...args];
  const env = { ...process.env, PATH: join(modules, ".bin") + delimiter + pathWithoutProject() };
  if (typeof process.execve === "function" && !isWindows) {
    // The usual case: npm has put the project's Node first in the PATH, so this process can simply become the script.
    process.emitWarning = () => {};
    process.execve(runtime, [runtime, ...command], env);
  }
  const { code, signal } = await run(runtime, command, { stdio: "inherit", env });
  if (signal === null) process.exit(code);
  process.kill(process.pid, signal);
  process.exit(128 + constants.signals[signal]);
}

/** Resolves when the program has ended. Signals are passed on and never end this process before its child. */
function run(program, args, options) {
  return new Promise((done) => {
    const child = spawn(program, args, {
      cwd: options.stdio === "inherit" ? process.cwd() : root,
      ...options,
    });
    const forwarders = FORWARDED_SIGNALS.map((name) => [name, () => child.kill(name)]);
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
  process.exit(EXIT_NOT_INSTALLED);
}
