import { createHostNames, infrastructureLookup } from "../system/host-names.ts";
import { createHttpTransport } from "../transport/http/http-transport.ts";
import type { ConnectionLimits } from "../transport/http/connections.ts";
import { createAddressPolicy } from "../domain/egress/address-policy.ts";
import type { Clock } from "../ports/clock.ts";
import type { Transport } from "../ports/transport.ts";

/** Settings of a sender, as plain data that can be sent to another thread. */
export interface SenderSettings extends Omit<ConnectionLimits, "idleSocketMs" | "onOpenSockets"> {
  readonly egressAllow: readonly string[];
  readonly allowLoopback: boolean;
  readonly egressProxy: string | null;
  /** Shared by all sender threads. */
  readonly lookupSlots: BigInt64Array;
}

/**
 * Shorter than the 60 seconds after which common load balancers silently close idle connections. Most receivers that
 * close earlier announce it, as Node's servers do (`Keep-Alive: timeout=5`). For the others, the transport adapts to
 * what it observes.
 */
const idleSocketMs = 55_000;

/** Sends on the calling thread. */
export function openInThread(
  { egressAllow, allowLoopback, egressProxy, lookupSlots, ...limits }: SenderSettings,
  clock: Clock,
  onOpenSockets?: (count: number) => void,
): Transport {
  return createHttpTransport({
    ...limits,
    addressPolicy: createAddressPolicy(egressAllow, allowLoopback),
    clock,
    idleSocketMs,
    dns: createHostNames({ lookupSlots }),
    proxyLookup: infrastructureLookup,
    proxyUrl: egressProxy ?? undefined,
    onOpenSockets,
  });
}
