import { Child } from "../process/child.ts";
import { callApi, type ServedProduct } from "../product/product.ts";
import type { SenderCalls } from "./main.ts";

/** The benchmark uses a fixed secret, because it protects nothing. */
export const gatewaySecret = "of the senders of the bench";
export const signatureHeader = "x-hub-signature-256";

/** A separate process that publishes events, sends messages to the gateway, or acts as a bare reverse proxy. */
export class SenderProcess extends Child<SenderCalls> {
  constructor() {
    super(new URL("main.ts", import.meta.url));
  }
}

// ---- events ------------------------------------------------------------------------------------------------------

/** The target and the event types, which are used in round-robin order. */
export interface Publishing extends ServedProduct {
  readonly types: readonly string[];
}

export interface PublishedEvent {
  readonly id: string;
  /** The machine's clock reading (ms) when the request began. */
  readonly publishedAt: number;
  /** Milliseconds until the response arrived. */
  readonly tookMs: number;
}

// ---- messages of the gateway -------------------------------------------------------------------------------------

/** The target and its paths, which are used in round-robin order. */
export interface Sending {
  readonly origin: string;
  readonly paths: readonly string[];
  /** Number of the first message. Must be new, so that no message is a repeat. */
  readonly first: number;
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
