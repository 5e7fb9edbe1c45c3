import { Child } from "../process/child.ts";
import type { Usage } from "../process/serve-calls.ts";

export interface SinkCounts {
  readonly ok: number;
  readonly hanging: number;
  readonly slow: number;
  readonly failed: number;
}

/** The receiver of all contestants, in a separate process. */
export class Sink {
  readonly #child: Child;
  readonly origin: string;
  readonly #tlsPort: number;

  private constructor(child: Child, plain: number, tls: number) {
    this.#child = child;
    this.origin = `http://127.0.0.1:${plain}`;
    this.#tlsPort = tls;
  }

  static async start(): Promise<Sink> {
    const child = new Child(new URL("main.ts", import.meta.url));
    const [plain, tls] = await Promise.all([child.call<number>("port"), child.call<number>("tlsPort")]);
    return new Sink(child, plain, tls);
  }

  /** One of any number of names under which the sink is reached over TLS. */
  tlsOrigin(name: string): string {
    return `https://${name}.sink.localhost:${this.#tlsPort}`;
  }

  /** TLS handshakes since the last reset. */
  handshakes(): Promise<{ readonly all: number; readonly resumed: number }> {
    return this.#child.call("handshakes");
  }

  reset(): Promise<void> {
    return this.#child.call("reset");
  }

  /** Machine time at which the n-th request to an `/ok/` path arrived. */
  when(count: number): Promise<number> {
    return this.#child.call("when", count);
  }

  /** Notes the time and the Webhook-ID of each request from now on. */
  record(): Promise<void> {
    return this.#child.call("record");
  }

  /** From now on `/turn/` paths hang. */
  turn(): Promise<void> {
    return this.#child.call("turn");
  }

  /** First arrival of each Webhook-ID, in machine time. */
  async arrivals(): Promise<ReadonlyMap<string, number>> {
    const { ids, atMs } = await this.#child.call<{ ids: string[]; atMs: number[] }>("arrivals");
    const first = new Map<string, number>();
    for (const [index, id] of ids.entries()) if (!first.has(id)) first.set(id, atMs[index] as number);
    return first;
  }

  seen(): Promise<SinkCounts> {
    return this.#child.call("seen");
  }

  usage(): Promise<Usage> {
    return this.#child.usage();
  }

  stop(): Promise<void> {
    return this.#child.kill();
  }
}
