import { Child } from "../process/child.ts";
import type { Usage } from "../process/serve-calls.ts";
import type { WebhookSeed } from "./webhook-seed.ts";

export interface FloodInput {
  readonly events: number;
  /** Taken in turn. */
  readonly types: readonly string[];
  /** Events of one `publishMany`. */
  readonly batch: number;
  readonly deliveriesPerEvent: number;
  /** Deliveries published and not settled. */
  readonly outstandingMax: number;
  /** Deliveries of this type do not count as outstanding: nobody expects them to end. */
  readonly uncountedType: string | null;
}

export interface PacedInput {
  readonly perSecond: number;
  readonly durationMs: number;
  readonly types: readonly string[];
}

export interface PacedEvent {
  readonly id: string;
  readonly eventType: string;
  readonly publishedAt: number;
  readonly acceptedAt: number;
}

/** The product in a process of its own, as the harness sees it. */
export class ProductProcess {
  readonly #child = new Child(new URL("main.ts", import.meta.url));

  /** Opens the store and composes the engine; nothing moves before `start`. */
  async open(input: { readonly dataDir: string; readonly delivers: boolean }): Promise<this> {
    await this.#child.call("open", input);
    return this;
  }

  /** Returns their ids, in order. */
  saveWebhooks(seeds: readonly WebhookSeed[]): Promise<readonly string[]> {
    return this.#child.call("saveWebhooks", seeds);
  }

  start(): Promise<void> {
    return this.#child.call("start");
  }

  flood(input: FloodInput): Promise<void> {
    return this.#child.call("flood", input);
  }

  paced(input: PacedInput): Promise<readonly PacedEvent[]> {
    return this.#child.call("paced", input);
  }

  committed(left = 0): Promise<number> {
    return this.#child.call("committed", { left });
  }

  usage(): Promise<Usage> {
    return this.#child.usage();
  }

  startProfile(): Promise<void> {
    return this.#child.call("startProfile");
  }

  stopProfile(file: string): Promise<void> {
    return this.#child.call("stopProfile", { file });
  }

  /** An orderly end: the store is closed. */
  async close(): Promise<void> {
    await this.#child.call("close");
    await this.#child.kill();
  }

  kill(): Promise<void> {
    return this.#child.kill();
  }
}
