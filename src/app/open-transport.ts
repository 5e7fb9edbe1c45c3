import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { createLookupSlots } from "../system/host-names.ts";
import type { SenderData } from "../transport/threads/sender-messages.ts";
import { createThreadsTransport } from "../transport/threads/threads-transport.ts";
import type { Settings } from "../config/options.ts";
import type { Clock } from "../ports/clock.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { Transport } from "../ports/transport.ts";
import { openFilesMax } from "./data-folder.ts";
import { openInThread } from "./sender-settings.ts";

/** Sends on this thread or on separate threads, depending on `POSTHORN_SENDER_THREADS`. */
export function openTransport(settings: Settings, clock: Clock, log: Telemetry["log"]): Transport {
  const { concurrency, gatewayInFlight, egressAllow, dev, egressProxy } = settings;
  const { threads, plainHere } = shareOut(settings.senderThreads, availableParallelism());
  const parts = threads + (plainHere ? 1 : 0);
  const openFiles = openFilesMax();
  const idleSocketsMax = Math.ceil(idleConnections(settings, openFiles) / parts);
  // The engine limits concurrent requests. A lower socket limit here would not be shared fairly between tenants.
  const busyMax = concurrency + gatewayInFlight + waitingRequestsMax(settings, openFiles) + otherRequests;
  const sender = {
    egressAllow,
    allowLoopback: dev,
    egressProxy,
    lookupSlots: createLookupSlots(),
    socketsMax: busyMax + idleSocketsMax,
    idleSocketsMax,
  };
  if (threads === 0) return openInThread(sender, clock);
  return createThreadsTransport({
    threads,
    start: startSender,
    settings: sender,
    clock,
    plain: plainHere ? openInThread(sender, clock) : undefined,
    onLost: ({ cause, inFlight }) =>
      log.error(
        { cause, inFlight },
        "a sender thread exited and is being replaced; its requests are sent again",
      ),
  });
}

/**
 * Number of idle connections to keep. It is at least the number of concurrent requests, so that a burst of requests to
 * many origins does not close one connection per request. It is higher if the descriptor limit allows it.
 */
export function idleConnections(
  settings: Pick<Settings, "concurrency" | "waitingRequests" | "maxConnections">,
  openFiles: number | null,
): number {
  const { concurrency, maxConnections } = settings;
  const busy = concurrency + waitingRequestsMax(settings, openFiles);
  const room = (openFiles ?? 0) - maxConnections - busy - otherFiles;
  return Math.max(concurrency, Math.min(idleConnectionsMax, Math.floor(room / 2)));
}

/** Maximum number of waiting requests: the configured number, or fewer if the descriptor limit does not allow it. */
export function waitingRequestsMax(
  { concurrency, waitingRequests }: Pick<Settings, "concurrency" | "waitingRequests">,
  openFiles: number | null,
): number {
  if (openFiles === null) return waitingRequests;
  // Use only half of the remaining descriptors, because API clients need connections too.
  const permitted = Math.floor((openFiles - concurrency - otherFiles) / 2);
  return Math.min(waitingRequests, Math.max(concurrency, permitted));
}

/** Requests to token endpoints, verifications, consent and notifications. */
const otherRequests = 256;
/** An idle TLS connection takes 35 kB. */
const idleConnectionsMax = 1_000;
const otherFiles = 100;

/**
 * Decides how many threads send, and whether plain HTTP stays on the main thread. Sending plain HTTP on a separate
 * thread saves a fifth of the main thread's time per delivery and costs more than that elsewhere, so it pays off only
 * if cores would otherwise be idle (docs/notes/benchmark-history.md).
 */
export function shareOut(
  wanted: number | null,
  cores: number,
): { readonly threads: number; readonly plainHere: boolean } {
  const threads = wanted ?? Math.min(cores - 1, threadsMax);
  return { threads, plainHere: threads === 0 || (wanted === null && cores === 2) };
}

/** More threads would wait for the main thread, which dispatches about ten thousand deliveries per second. */
const threadsMax = 4;

/** Starts a sender thread with `SenderSettings`. */
export function startSender(workerData: SenderData): Worker {
  // Source and compiled files are in the same folder as this file, with the same extension.
  const ending = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
  return new Worker(new URL(`./sender-entry${ending}`, import.meta.url), { workerData, name: "sender" });
}
