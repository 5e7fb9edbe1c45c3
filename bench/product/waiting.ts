import { setTimeout as sleep } from "node:timers/promises";
import { machineMs } from "../process/serve-calls.ts";
import type { Home } from "./home.ts";
import { openWitness } from "./witness.ts";
import type { Witness } from "./witness.ts";

/** Machine time at which no more than `left` deliveries wait, everything else settled and committed. */
export async function committed(witness: Witness, left: number): Promise<number> {
  const endsAt = performance.now() + waitMsMax;
  for (;;) {
    const waiting = await witness.waiting();
    if (waiting <= left) return machineMs();
    if (performance.now() > endsAt) throw new Error(`deliveries still wait: ${waiting}, expected ${left}`);
    await sleep(pollMs);
  }
}

/** Every delivery of the store is a success with one attempt. */
export async function verifySettled(home: Home, total: number): Promise<void> {
  const witness = await openWitness(home);
  try {
    const { successes, attempts } = await witness.settled();
    if (successes === total && attempts === total) return;
    throw new Error(`of ${total} deliveries ${successes} are settled with ${attempts} attempts`);
  } finally {
    await witness.close();
  }
}

const pollMs = 2;
const waitMsMax = 30_000;
