import type { NameLookup } from "../../../ports/name-lookup.ts";
import type { ClientCertificate, OutboundRequest, Transport } from "../../../ports/transport.ts";
import type { Webhook } from "../../../core/webhook.ts";

/** What verifications reach the outside with. Every request goes through the transport, and so past its egress guard. */
export interface VerificationMeans {
  readonly transport: Transport;
  readonly names: NameLookup;
  readonly userAgent: string;
  /** `WebHook-Request-Origin`: the DNS name under which this system is known (CEW-4.1.2-1). */
  readonly requestOrigin: string;
  /** Where this server is reached from outside, without a slash at the end; null offers no callback. */
  readonly publicUrl: string | null;
}

/** Whom to ask, and with which certificate; a receiver that wants one would refuse the connection without. */
export interface VerificationTarget {
  readonly webhook: Pick<Webhook, "id" | "url" | "http2" | "verification">;
  readonly clientCertificate: ClientCertificate | null;
}

const timeoutMs = 10_000;

/**
 * A request to the exact URL of a webhook. It carries no credentials and no custom headers: a URL proves itself before
 * it is told anything that is meant for the receiver alone (CEW-4-2).
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
