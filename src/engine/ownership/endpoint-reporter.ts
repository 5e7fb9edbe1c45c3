import type { Clock, Timer } from "../../ports/clock.ts";
import type { EndpointReportRow, OwnershipStore } from "../../ports/store/ownership.ts";
import type { Endpoint } from "../endpoint.ts";
import { reportOf } from "./endpoint-reports.ts";

export interface EndpointReporterOptions {
  readonly store: Pick<OwnershipStore, "report">;
  readonly clock: Clock;
  readonly held: () => readonly Endpoint[];
  /** Deliveries on their way, by endpoint. */
  readonly flying: () => ReadonlyMap<Endpoint, readonly string[]>;
}

/**
 * Tells what only this worker sees of its endpoints, twice a second and only what changed, all with one statement. A report
 * that cannot be written is no loss: the next one says the same.
 */
export class EndpointReporter {
  readonly #options: EndpointReporterOptions;
  /** What was told of each, without an entry for nothing. */
  readonly #told = new WeakMap<Endpoint, string>();
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(options: EndpointReporterOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = this.#options.clock.schedule(reportMs, () => {
      this.#running = this.#report().finally(() => {
        if (!this.#stopped) this.start();
      });
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  async #report(): Promise<void> {
    const { store, held, flying, clock } = this.#options;
    const now = clock.now();
    const onTheirWay = flying();
    const rows: EndpointReportRow[] = [];
    const changed: Endpoint[] = [];
    for (const endpoint of held()) {
      const report = reportOf(endpoint, { now, deliveries: onTheirWay.get(endpoint) ?? [] });
      const { fence } = endpoint;
      // Told under each ownership anew: what was told under another one counts no more.
      const document = report === null ? "" : JSON.stringify(report);
      const told = `${fence} ${document}`;
      if (fence === null || (this.#told.get(endpoint) ?? `${fence} `) === told) continue;
      this.#told.set(endpoint, told);
      changed.push(endpoint);
      rows.push({ webhookId: endpoint.webhook.id, fence, document });
    }
    if (rows.length === 0) return;
    try {
      await store.report(rows);
    } catch {
      // Not without an entry, which would mean that there was nothing to tell: what was told before still stands there.
      for (const endpoint of changed) this.#told.set(endpoint, unwritten);
    }
  }
}

/** Differs from whatever can be told. */
const unwritten = "";
/** People who look at an endpoint see it this old at most; more often would be writes that nobody reads. */
const reportMs = 500;
