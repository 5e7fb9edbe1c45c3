import { Child } from "../process/child.ts";
import type { Usage } from "../process/serve-calls.ts";
import { callApi, type ServedProduct } from "../product/product.ts";

/** A benchmark has no real secrets. */
export const gatewaySecret = "of the senders of the bench";
export const signatureHeader = "x-hub-signature-256";

// ---- events ------------------------------------------------------------------------------------------------------

/** To whom and what. The event types take turns. */
export interface Publishing extends ServedProduct {
  readonly types: readonly string[];
}

export interface PublishedEvent {
  readonly id: string;
  /** Machine time at which the request began. */
  readonly publishedAt: number;
  /** Milliseconds until the response. */
  readonly tookMs: number;
}

/** An application in a separate process that publishes single events over HTTP on 64 connections. */
export class PublisherProcess {
  readonly #child = new Child(new URL("main.ts", import.meta.url));

  /** As fast as the connections allow. */
  publish(to: Publishing, events: number): Promise<void> {
    return this.#child.call("publish", { to, events });
  }

  /** At fixed times. */
  paced(to: Publishing, perSecond: number, durationMs: number): Promise<readonly PublishedEvent[]> {
    return this.#child.call("publishPaced", { to, perSecond, durationMs });
  }

  usage(): Promise<Usage> {
    return this.#child.usage();
  }

  kill(): Promise<void> {
    return this.#child.kill();
  }
}

// ---- messages of the gateway -------------------------------------------------------------------------------------

/** To whom. The paths take turns. */
export interface Sending {
  readonly origin: string;
  readonly paths: readonly string[];
  /** Number of the first message, so that none is a repetition. */
  readonly first: number;
}

/** A sender of signed messages on 64 connections, or a reverse proxy, in a separate process. */
export class SenderProcess {
  readonly #child = new Child(new URL("main.ts", import.meta.url));

  /** Milliseconds until all were answered. */
  send(to: Sending, messages: number): Promise<number> {
    return this.#child.call("send", { to, messages });
  }

  /** Milliseconds of each message. */
  paced(to: Sending, perSecond: number, durationMs: number): Promise<readonly number[]> {
    return this.#child.call("sendPaced", { to, perSecond, durationMs });
  }

  flood(to: Sending): Promise<void> {
    return this.#child.call("flood", to);
  }

  /** Becomes a proxy to this origin. Returns its address. */
  proxy(origin: string): Promise<string> {
    return this.#child.call("proxy", { origin });
  }

  kill(): Promise<void> {
    return this.#child.kill();
  }
}

/** Creates a source for each destination URL, and returns the paths of the sources. */
export async function createSources(
  product: ServedProduct,
  destinations: readonly string[],
  mode: "pass_through" | "store_and_forward",
): Promise<readonly string[]> {
  const call = async (request: string, body?: object) =>
    JSON.parse(await callApi(product, request, body)) as Record<string, string>;
  const { version } = await call("GET /service-description");
  const secrets = [gatewaySecret];
  const verification = { type: "hmac", header: signatureHeader, prefix: "sha256=", secrets };
  const paths: string[] = [];
  for (const destination of destinations) {
    const source = await call("POST /v1/sources", { name: "bench", verification });
    const { source_id: id = "" } = source;
    await call(`POST /v1/sources/${id}/acknowledge`, { version });
    await call(`PATCH /v1/sources/${id}`, { mode });
    const signing = { schemes: ["v1"] };
    const webhook = await call("POST /v1/webhooks", { url: destination, events: ["relayed"], signing });
    await call("POST /v1/connections", { source_id: id, webhook_id: webhook["id"] });
    paths.push(new URL(source["url"] ?? "").pathname);
  }
  return paths;
}
