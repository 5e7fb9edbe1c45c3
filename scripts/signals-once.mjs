// Preloaded by with-runtime.mjs. Ctrl-C reaches every process of the terminal, and npm and with-runtime.mjs also
// forward it to their child. A program that stops immediately on the second Ctrl-C would never shut down gracefully. A
// repeated signal within this time therefore counts as the same signal.

import { isMainThread } from "node:worker_threads";

const SAME_SIGNAL_MS = 500;
const WATCHED = new Set(["SIGINT", "SIGTERM", "SIGHUP"]);

const lastSeenAt = new Map();
const emit = process.emit;

process.emit = function emitOnce(name, ...args) {
  if (WATCHED.has(name)) {
    const now = performance.now();
    const previous = lastSeenAt.get(name);
    if (previous !== undefined && now - previous < SAME_SIGNAL_MS) return true;
    lastSeenAt.set(name, now);
  }
  return Reflect.apply(emit, process, [name, ...args]);
};

// npm sends a signal to the shell that runs the script. Some shells (dash, cmd) stay the parent of the program and exit
// without forwarding the signal. The scripts do not start with `exec`, which cmd lacks, so this code detects that the
// program's parent has exited, and stops as if it had received the signal.
const PARENT_POLL_MS = 200;

if (isMainThread && process.env.npm_lifecycle_event !== undefined) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, PARENT_POLL_MS);
  timer.unref();
}
