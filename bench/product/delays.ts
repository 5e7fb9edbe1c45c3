import { percentile } from "../statistics.ts";
import type { PacedEvent } from "./product.ts";

export interface DelayP95 {
  /** From the moment the publish resolved. */
  readonly fromAcceptedMs: number;
  /** From the call of publish: with the commit. */
  readonly fromPublishedMs: number;
}

/** How long events took to reach the sink, whose arrivals are given. Throws when one has not arrived. */
export function delayP95(events: readonly PacedEvent[], arrivals: ReadonlyMap<string, number>): DelayP95 {
  const sinceAccepted: number[] = [];
  const sincePublished: number[] = [];
  for (const event of events) {
    const arrivedAt = arrivals.get(event.id);
    if (arrivedAt === undefined) throw new Error(`event ${event.id} did not arrive`);
    sinceAccepted.push(arrivedAt - event.acceptedAt);
    sincePublished.push(arrivedAt - event.publishedAt);
  }
  return {
    fromAcceptedMs: percentile(sinceAccepted, p95),
    fromPublishedMs: percentile(sincePublished, p95),
  };
}

const p95 = 0.95;
