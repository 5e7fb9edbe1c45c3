/** A transport with sender threads, which may connect to this machine, and functions to kill the threads. */
import type { Worker } from "node:worker_threads";
import { systemClock as clock } from "../../src/system/clock.ts";
import { createLookupSlots } from "../../src/system/host-names.ts";
import { createThreadsTransport } from "../../src/transport/threads/threads-transport.ts";
import type { LostSender } from "../../src/transport/threads/sender-thread.ts";
import { startSender } from "../../src/app/open-transport.ts";
import type { SenderSettings } from "../../src/app/sender-settings.ts";
import type { Transport } from "../../src/ports/transport.ts";

const settings: SenderSettings = {
  egressAllow: [],
  allowLoopback: true,
  egressProxy: null,
  lookupSlots: createLookupSlots(),
  socketsMax: 500,
  idleSocketsMax: 500,
};

/** `onStart` is called for each thread that starts, and `onLost` for each that ends. */
export function inThreads(
  threads: number,
  {
    onStart = () => {},
    onLost = () => {},
  }: { onStart?: (worker: Worker) => void; onLost?: (lost: LostSender) => void } = {},
): Transport {
  return createThreadsTransport({
    threads,
    settings,
    clock,
    onLost,
    start: (data) => {
      const worker = startSender(data);
      onStart(worker);
      return worker;
    },
  });
}
