import { createHostNames, infrastructureLookup } from "../adapters/system/host-names.ts";
import { createHttpTransport } from "../adapters/transport/http/http-transport.ts";
import type { ConnectionLimits } from "../adapters/transport/http/connections.ts";
import { createAddressPolicy } from "../core/egress/address-policy.ts";
import type { Clock } from "../ports/clock.ts";
import type { Transport } from "../ports/transport.ts";

/** What a sender has to know, as plain data that may go to another thread. */
export interface SenderSettings extends Omit<ConnectionLimits, "idleSocketMs" | "onOpenSockets"> {
  readonly egressAllow: readonly string[];
  readonly allowLoopback: boolean;
  readonly egressProxy: string | null;
  /** Shared by all threads that send. */
  readonly lookupSlots: BigInt64Array;
}

/**
 * Shorter than the 60 seconds after which common load balancers close idle connections without a word. Receivers that
 * close earlier mostly say so, as Node's servers do (`Keep-Alive: timeout=5`); those that do not are learned from.
 */
const idleSocketMs = 55_000;

/** Sends on the thread that calls. */
export function openInThread(
  { egressAllow, allowLoopback, egressProxy, lookupSlots, ...limits }: SenderSettings,
  clock: Clock,
  onOpenSockets?: (count: number) => void,
): Transport {
  return createHttpTransport({
    ...limits,
    addressPolicy: createAddressPolicy({ allow: egressAllow, allowLoopback }),
    clock,
    idleSocketMs,
    dns: createHostNames({ lookupSlots }),
    proxyLookup: infrastructureLookup,
    proxyUrl: egressProxy ?? undefined,
    ...(onOpenSockets !== undefined && { onOpenSockets }),
  });
}
