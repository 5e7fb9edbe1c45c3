import type { ProfileTarget } from "../row.ts";
import { Child } from "../process/child.ts";
import type { RawCalls } from "./main.ts";

export interface RawResult {
  readonly requests: number;
  readonly elapsedMs: number;
  readonly cpuMs: number;
}

export interface PacedResult {
  readonly sent: readonly { readonly id: string; readonly startedAt: number; readonly endedAt: number }[];
}

export interface RawKind {
  readonly by: "request" | "dispatch";
  readonly schemes: readonly ("v1" | "v1a")[];
}

const rawDefault: RawKind = { by: "request", schemes: ["v1"] };

/** Requests per second of `raw`, with the CPU time per request. */
export interface RawSample {
  readonly perSecond: number;
  readonly cpuUs: number;
}

/**
 * The upper limit, sampled around every other measurement. The machine's speed varies, so a ratio is computed only with
 * the samples right before and right after.
 */
export class Raw {
  readonly #child: Child<RawCalls>;
  readonly #sampleMs: number;

  private constructor(child: Child<RawCalls>, sampleMs: number) {
    this.#child = child;
    this.#sampleMs = sampleMs;
  }

  static async start(origin: string, sampleMs: number): Promise<Raw> {
    const child = new Child<RawCalls>(new URL("main.ts", import.meta.url));
    await child.call("open", { origin });
    const raw = new Raw(child, sampleMs);
    // Compiles the code and opens the connections. This sample is discarded.
    await raw.#run(rawDefault, warmUpMs);
    return raw;
  }

  sample(kind: RawKind = rawDefault): Promise<RawSample> {
    return this.#run(kind, this.#sampleMs);
  }

  /** Takes one sample under the profiler, for comparison with Posthorn's profile. */
  async profile(target: ProfileTarget, kind: RawKind): Promise<void> {
    await this.#child.startProfile();
    const { perSecond } = await this.#run(kind, this.#sampleMs);
    await this.#child.stopProfile(target.file);
    target.items = Math.round((perSecond * this.#sampleMs) / 1000);
  }

  /** Sends to the origins in round-robin order, at the same concurrency as without TLS. */
  async overTls(origins: readonly string[], path: string, requests: number): Promise<RawSample> {
    return perRequest(await this.#child.call("overTls", { origins, path, requests }));
  }

  paced(perSecond: number, durationMs: number): Promise<PacedResult> {
    return this.#child.call("paced", { perSecond, durationMs });
  }

  stop(): Promise<void> {
    return this.#child.kill();
  }

  async #run(kind: RawKind, durationMs: number): Promise<RawSample> {
    return perRequest(await this.#child.call("run", { ...kind, durationMs }));
  }
}

function perRequest({ requests, elapsedMs, cpuMs }: RawResult): RawSample {
  return { perSecond: (requests * 1000) / elapsedMs, cpuUs: (cpuMs * 1000) / requests };
}

const warmUpMs = 1_000;
