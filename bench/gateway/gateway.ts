import { Child } from "../process/child.ts";
import type { Usage } from "../process/serve-calls.ts";
import type { ServedProduct } from "../product/product.ts";

/** A benchmark has nothing to hide. */
export const gatewaySecret = "of the senders of the bench";
export const signatureHeader = "x-hub-signature-256";

/** To whom: paths are taken in turn. */
export interface Sending {
  readonly origin: string;
  readonly paths: readonly string[];
  /** Number of the first message: none is a repeat. */
  readonly first: number;
}

export interface PacedSending extends Sending {
  readonly perSecond: number;
  readonly durationMs: number;
}

/** A sender of signed messages on 64 connections, or a reverse proxy, in a process of its own. */
export class SenderProcess {
  readonly #child = new Child(new URL("main.ts", import.meta.url));

  /** Milliseconds until all were answered. */
  send(input: Sending & { readonly messages: number }): Promise<number> {
    return this.#child.call("send", input);
  }

  /** Milliseconds of each. */
  paced(input: PacedSending): Promise<readonly number[]> {
    return this.#child.call("paced", input);
  }

  flood(input: Sending): Promise<void> {
    return this.#child.call("flood", input);
  }

  /** Becomes a proxy to this origin; its address. */
  proxy(origin: string): Promise<string> {
    return this.#child.call("proxy", { origin });
  }

  usage(): Promise<Usage> {
    return this.#child.usage();
  }

  kill(): Promise<void> {
    return this.#child.kill();
  }
}

/** Sources of a served product, each connected to one of these addresses; the paths of theirs. */
export async function makeSources(
  { url, adminKey }: ServedProduct,
  urls: readonly string[],
  mode: "pass_through" | "store_and_forward",
): Promise<readonly string[]> {
  const call = async (request: string, body: object | null): Promise<Record<string, string>> => {
    const [method = "", path = ""] = request.split(" ");
    const headers = { "authorization": `Bearer ${adminKey}`, "content-type": "application/json" };
    const init = body === null ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const response = await fetch(`${url}${path}`, init);
    if (!response.ok) throw new Error(`${request}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, string>;
  };
  const { version } = await call("GET /service-description", null);
  const verification = {
    type: "hmac",
    header: signatureHeader,
    prefix: "sha256=",
    secrets: [gatewaySecret],
  };
  const paths: string[] = [];
  for (const destination of urls) {
    const source = await call("POST /v1/sources", { name: "bench", verification });
    const { source_id: id = "" } = source;
    await call(`POST /v1/sources/${id}/acknowledge`, { version });
    await call(`PATCH /v1/sources/${id}`, { mode });
    const webhook = await call("POST /v1/webhooks", {
      url: destination,
      events: ["relayed"],
      signing: { schemes: ["v1"] },
    });
    await call("POST /v1/connections", { source_id: id, webhook_id: webhook["id"] });
    paths.push(new URL(source["url"] ?? "").pathname);
  }
  return paths;
}
