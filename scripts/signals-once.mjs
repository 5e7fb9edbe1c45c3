// Preloaded by with-runtime.mjs. Ctrl-C reaches every process of the terminal, and npm passes it on to its child once
// more; so does with-runtime.mjs when it has to stay in between. A program that takes the second Ctrl-C for "stop at
// once" would never shut down gracefully. A repetition within this time is therefore the same signal, not a new one.

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
