const duties = new Set<() => void>();
let isListening = false;

/** Runs when the harness ends, also by a signal. Returns how to call it off. */
export function atEnd(duty: () => void): () => void {
  duties.add(duty);
  if (!isListening) listen();
  return () => duties.delete(duty);
}

function listen(): void {
  isListening = true;
  process.once("exit", runDuties);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      runDuties();
      // Without its listener the signal does what it always does.
      process.kill(process.pid, signal);
    });
  }
}

function runDuties(): void {
  for (const duty of duties) duty();
  duties.clear();
}
