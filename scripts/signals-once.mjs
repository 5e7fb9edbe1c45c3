// Preloaded by with-runtime.mjs. Ctrl-C reaches every process of the terminal, and npm passes it on to its child once
// more; so does with-runtime.mjs when it has to stay in between. A program that takes the second Ctrl-C for "stop at
// once" would never shut down gracefully. A repetition within this time is therefore the same signal, not a new one.

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

// npm hands a signal to the shell that runs the script. Some shells (dash, cmd) stay there as the parent of the program and
// end without passing it on. The scripts do not start with `exec`, because cmd has none, so the program notices here that its
// parent is gone and stops as if the signal had reached it.
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
