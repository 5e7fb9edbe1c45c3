import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { SimulationResult } from "./simulate.ts";

export interface SeedRequest {
  readonly seed: number;
  readonly disk: "model" | "sqlite";
}

/**
 * Lives worlds in a thread of its own. Beside tests each promise would be followed by `node:test`, which wants to know whose
 * it is: that is two thirds of what a world of a hundred thousand promises costs.
 */
export class SeedThread {
  readonly #worker = new Worker(new URL("./seed-entry.ts", import.meta.url));

  /** One at a time. Rejects when the thread itself breaks. */
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
