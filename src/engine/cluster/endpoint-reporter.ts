import type { Clock } from "../../ports/clock.ts";
import type { EndpointReportRow, OwnershipStore } from "../../ports/store/ownership.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { Loop } from "../../ports/timing/loop.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { reportOf } from "./endpoint-reports.ts";

export interface EndpointReporterOptions {
  readonly store: Pick<OwnershipStore, "report">;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, "log">;
  readonly owned: () => readonly Endpoint[];
  /** Deliveries in flight, by endpoint. */
  readonly flying: () => ReadonlyMap<Endpoint, readonly string[]>;
}

/**
 * Reports the endpoint state that only this worker has: twice a second, only changes, in one statement. A failed
 * report is harmless, because the next one contains the same state.
 */
export class EndpointReporter {
  readonly #options: EndpointReporterOptions;
  /** The last report of each endpoint; no entry means an empty report. */
  readonly #reported = new WeakMap<Endpoint, string>();
  readonly #loop: Loop;

  constructor(options: EndpointReporterOptions) {
    const { clock, telemetry } = options;
    this.#options = options;
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
    const { store, owned, flying, clock } = this.#options;
    const now = clock.now();
    const onTheirWay = flying();
    const rows: EndpointReportRow[] = [];
    const changed: Endpoint[] = [];
    for (const endpoint of owned()) {
      const report = reportOf(endpoint, now, onTheirWay.get(endpoint) ?? []);
      const { ownerEpoch } = endpoint;
      // Repeated under each owner epoch, because reports of other epochs are ignored.
      const document = report === null ? "" : JSON.stringify(report);
      const current = `${ownerEpoch} ${document}`;
      if (ownerEpoch === null || (this.#reported.get(endpoint) ?? `${ownerEpoch} `) === current) continue;
      this.#reported.set(endpoint, current);
      changed.push(endpoint);
      rows.push({ webhookId: endpoint.webhook.id, ownerEpoch, document });
    }
    if (rows.length === 0) return;
    try {
      await store.report(rows);
    } catch {
      // Keep an entry, because no entry would mean an empty report, but the store still has the previous one.
      for (const endpoint of changed) this.#reported.set(endpoint, unwritten);
    }
  }
}

/** Differs from every report. */
const unwritten = "";
/** Maximum age of the state that users see. A shorter period would only add writes. */
const reportMs = 500;
