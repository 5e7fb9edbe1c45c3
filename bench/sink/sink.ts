import { Child } from "../process/child.ts";
import type { SinkCalls } from "./main.ts";

/** The receiver for all contestants, in a separate process. */
export class Sink extends Child<SinkCalls> {
  origin = "";
  #tlsPort = 0;

  static async start(): Promise<Sink> {
    const sink = new Sink(new URL("main.ts", import.meta.url));
    const [plain, tls] = await Promise.all([sink.call("port"), sink.call("tlsPort")]);
    sink.origin = `http://127.0.0.1:${plain}`;
    sink.#tlsPort = tls;
    return sink;
  }

  /** An origin for this name, under which the sink is reachable over TLS. Any name works. */
  tlsOrigin(name: string): string {
    return `https://${name}.sink.localhost:${this.#tlsPort}`;
  }

  /** First arrival of each Webhook-ID, as the machine's clock reading (ms). */
  async arrivals(): Promise<ReadonlyMap<string, number>> {
    const { ids, atMs } = await this.call("arrivals");
    const first = new Map<string, number>();
    for (const [index, id] of ids.entries()) if (!first.has(id)) first.set(id, atMs[index] as number);
    return first;
  }
}
