import type { NameLookup } from "../../../ports/name-lookup.ts";
import type { ClientCertificate, OutboundRequest, Transport } from "../../../ports/transport.ts";
import type { Webhook } from "../../../core/webhook.ts";

/** Dependencies for verification requests. Every request uses the transport and its egress rules. */
export interface VerificationMeans {
  readonly transport: Transport;
  readonly names: NameLookup;
  readonly userAgent: string;
  /** `WebHook-Request-Origin`: the DNS name of this system (CEW-4.1.2-1). */
  readonly requestOrigin: string;
  /** Public address of this server without a trailing slash; null disables callbacks. */
  readonly publicUrl: string | null;
}

/** The receiver, and the client certificate that its server may require. */
export interface VerificationTarget {
  readonly webhook: Pick<Webhook, "id" | "url" | "http2" | "verification">;
  readonly clientCertificate: ClientCertificate | null;
}

const timeoutMs = 10_000;

/**
 * A request to the exact URL of a webhook. It carries no credentials or custom headers: a URL must be verified before
 * it receives anything that is meant only for the receiver (CEW-4-2).
 */
export function requestTo(
  { webhook, clientCertificate }: VerificationTarget,
  more: Pick<OutboundRequest, "method" | "headers" | "body"> & { readonly responseBodyBytesMax?: number },
): OutboundRequest {
  const url = new URL(webhook.url);
  return {
    ...more,
    origin: url.origin,
    path: url.pathname + url.search,
    timeoutMs,
    http2: webhook.http2,
    clientCertificate,
  };
}
