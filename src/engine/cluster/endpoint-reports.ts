import { addResults, advanceWindow, clearWindow, resizeWindow } from "../../core/rolling-window.ts";
import { adoptProbes } from "../../core/circuit-breaker.ts";
import { fillAt } from "../../core/rate-limit.ts";
import { tryParseJson } from "../../core/json/try-parse.ts";
import type { EndpointReport } from "../endpoint/endpoint-report.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";

/** The report on an owned endpoint; null if it equals the stored state. */
export function reportOf(
  endpoint: Endpoint,
  now: number,
  deliveries: readonly string[],
): EndpointReport | null {
  const { circuit, bucket, tenantQueue } = endpoint;
  advanceWindow(circuit.window, now);
  const { successes, failures } = circuit.window;
  const heads = headsOf(endpoint, now);
  const tenantWaitMs = tenantQueue.rateWaitMs(now);
  const rateFullAt = bucket !== null && bucket.fullAt > now ? bucket.fullAt : null;
  const isQuiet = endpoint.inFlight === 0 && heads.length === 0 && successes + failures === 0;
  if (isQuiet && rateFullAt === null && tenantWaitMs === 0 && circuit.phase === "closed") return null;
  return {
    inFlight: endpoint.inFlight,
    deliveries: deliveries.slice(0, listMax),
    rateFullAt,
    tenantLimitUntil: tenantWaitMs > 0 ? now + tenantWaitMs : null,
    heads,
    successes,
    failures,
    probeResults: circuit.probeResults,
    probeSuccesses: circuit.probeSuccesses,
    probes: circuit.probes,
  };
}

function headsOf(endpoint: Endpoint, now: number): EndpointReport["heads"] {
  const heads: [string, number | null][] = [];
  for (const [id, lane] of endpoint.lanes) {
    if (!lane.ordered || heads.length >= listMax) continue;
    if (lane.wakeAt !== null && lane.wakeAt > now) heads.push([id, lane.wakeAt]);
    else if (lane.inFlight > 0) heads.push([id, null]);
  }
  return heads;
}

/** Applies an owner's report to an endpoint that another process owns. Null: the owner reports nothing. */
export function applyReport(endpoint: Endpoint, report: EndpointReport | null, now: number): void {
  endpoint.reported(report);
  const { circuit, bucket } = endpoint;
  resizeWindow(circuit.window, endpoint.policy.circuitBreaker.windowSizeMs);
  // A report replaces the previous one; adding it would count results twice.
  clearWindow(circuit.window);
  if (report === null) return;
  const { successes, failures } = report;
  advanceWindow(circuit.window, now);
  addResults(circuit.window, [{ slice: circuit.window.head, successes, failures }], now);
  adoptProbes(circuit, report);
  if (bucket !== null && report.rateFullAt !== null) fillAt(bucket, report.rateFullAt);
}

/** Null if another version wrote it in a different format. */
export function parseReport(document: string): EndpointReport | null {
  const report = tryParseJson(document) as Partial<EndpointReport> | null | undefined;
  const isOurs =
    Array.isArray(report?.deliveries) && Array.isArray(report.heads) && Array.isArray(report.probes);
  return isOurs ? (report as EndpointReport) : null;
}

/** Limit for deliveries and lanes: enough for a user, and bounded because it is written twice a second. */
const listMax = 100;
