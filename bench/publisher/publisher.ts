import { Child } from "../process/child.ts";
import type { Usage } from "../process/serve-calls.ts";

/** To whom, and what: event types are taken in turn. */
export interface Publishing {
  readonly url: string;
  readonly adminKey: string;
  readonly types: readonly string[];
}

export interface FastPublishing extends Publishing {
  readonly events: number;
}

export interface PacedPublishing extends Publishing {
  readonly perSecond: number;
  readonly durationMs: number;
}

export interface PublishedEvent {
  readonly id: string;
  /** Machine time at which the request began. */
  readonly publishedAt: number;
  /** Milliseconds until the answer. */
  readonly tookMs: number;
}

/** An application in a process of its own that publishes single events over HTTP. */
export class PublisherProcess {
  readonly #child = new Child(new URL("main.ts", import.meta.url));

  /** As fast as 64 connections allow. */
  publish(input: FastPublishing): Promise<void> {
    return this.#child.call("publish", input);
  }

  /** When the time of each has come. */
  paced(input: PacedPublishing): Promise<readonly PublishedEvent[]> {
    return this.#child.call("paced", input);
  }

  usage(): Promise<Usage> {
    return this.#child.usage();
  }

  kill(): Promise<void> {
    return this.#child.kill();
  }
}
