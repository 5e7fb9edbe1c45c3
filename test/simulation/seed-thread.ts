import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { SimulationResult } from "./simulate.ts";

export interface SeedRequest {
  readonly seed: number;
  readonly disk: "model" | "sqlite";
}

/**
 * Runs worlds in a separate thread. In the test's thread, `node:test` would track each promise. For a world with a
 * hundred thousand promises, this takes two thirds of the time.
 */
export class SeedThread {
  readonly #worker = new Worker(new URL("./seed-entry.ts", import.meta.url));

  /** Must be called for one seed at a time. Rejects if the thread itself fails. */
  async live(request: SeedRequest): Promise<SimulationResult> {
    const answered = once(this.#worker, "message");
    this.#worker.postMessage(request);
    const [result] = (await answered) as [SimulationResult];
    return result;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
