import { adoptProbes } from "../../domain/circuit-breaker.ts";
import { tryParseJson } from "../../domain/json/json-text.ts";
import { fillAt } from "../../domain/rate-limit.ts";
import { addResults, advanceWindow, clearWindow, resizeWindow } from "../../domain/rolling-window.ts";
import { Loop } from "../../ports/clock.ts";
import type { EndpointReportRow, OwnershipStore } from "../../ports/store/ownership.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { EndpointReport } from "../endpoint/endpoint-config.ts";
import type { EngineContext } from "../engine-options.ts";

/** The report on an owned endpoint; null if the endpoint state equals the stored state. */
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

/**
 * Applies an owner's report to an endpoint that another process owns. Null means that the owner has nothing to report.
 */
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

/** Null if the report has a different format, because another version wrote it. */
export function parseReport(document: string): EndpointReport | null {
  const report = tryParseJson(document) as Partial<EndpointReport> | null | undefined;
  const isOurs =
    Array.isArray(report?.deliveries) && Array.isArray(report.heads) && Array.isArray(report.probes);
  return isOurs ? (report as EndpointReport) : null;
}

/**
 * Maximum number of deliveries and lanes in a report. Enough for a user, but limited because the report is written
 * twice a second.
 */
const listMax = 100;

/**
 * Reports the endpoint state that only this worker has. Writes twice a second, only changes, and in one statement. A
 * failed report is harmless, because the next one contains the same state.
 */
export class EndpointReporter {
  readonly #context: Pick<EngineContext, "clock" | "telemetry">;
  readonly #store: Pick<OwnershipStore, "report">;
  readonly #owned: () => readonly Endpoint[];
  readonly #flying: () => ReadonlyMap<Endpoint, readonly string[]>;
  /** The last report of each endpoint. A missing entry means an empty report. */
  readonly #reported = new WeakMap<Endpoint, string>();
  readonly #loop: Loop;

  /** `flying` returns the deliveries in flight, by endpoint. */
  constructor(
    context: Pick<EngineContext, "clock" | "telemetry">,
    store: Pick<OwnershipStore, "report">,
    owned: () => readonly Endpoint[],
    flying: () => ReadonlyMap<Endpoint, readonly string[]>,
  ) {
    const { clock, telemetry } = context;
    this.#context = context;
    this.#store = store;
    this.#owned = owned;
    this.#flying = flying;
    this.#loop = new Loop({
      clock,
      round: () => this.#report(),
      pauseMs: () => reportMs,
      failed: (error) => telemetry.log.error({ err: String(error) }, "reporting endpoints failed; retrying"),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #report(): Promise<void> {
    const now = this.#context.clock.now();
    const inFlight = this.#flying();
    const rows: EndpointReportRow[] = [];
    const changed: Endpoint[] = [];
    for (const endpoint of this.#owned()) {
      const report = reportOf(endpoint, now, inFlight.get(endpoint) ?? []);
      const { ownerEpoch } = endpoint;
      // Reports are repeated under each owner epoch, because reports of other epochs are ignored.
      const document = report === null ? "" : JSON.stringify(report);
      const current = `${ownerEpoch} ${document}`;
      if (ownerEpoch === null || (this.#reported.get(endpoint) ?? `${ownerEpoch} `) === current) continue;
      this.#reported.set(endpoint, current);
      changed.push(endpoint);
      rows.push({ webhookId: endpoint.webhook.id, ownerEpoch, document });
    }
    if (rows.length === 0) return;
    try {
      await this.#store.report(rows);
    } catch {
      // Keep an entry: without one, the report would count as empty, but the store still has the previous report.
      for (const endpoint of changed) this.#reported.set(endpoint, unwritten);
    }
  }
}

/** A value that differs from every report. */
const unwritten = "";
/**
 * Interval between reports, and therefore the maximum age of the state that users see. A shorter interval would only
 * add writes.
 */
const reportMs = 500;
