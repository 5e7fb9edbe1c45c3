/** Which headers of a sender reach the webhook: those that are named, and never what belongs to a hop (G10). */
import type { Relayed } from "../core/gateway/relayed.ts";
import { hopHeader } from "./hops.ts";

const never =
  /^(authorization|cookie|proxy-.*|connection|keep-alive|te|trailer|transfer-encoding|upgrade|host|content-length|forwarded|x-forwarded-.*|webhook-request-.*|webhook-signature|webhook-timestamp|webhook-id|x-webhook-signature|idempotency-key|x-idempotency-key|posthorn-.*|expect|set-cookie|www-authenticate)$/i;

export function isForwardable(name: string): boolean {
  return !never.test(name);
}

const endToEnd = ["Signature", "Signature-Input", "Content-Digest"];

interface Handing {
  readonly get: (name: string) => string | null;
  /** Beside those that everybody hands on. */
  readonly names: readonly string[];
  readonly passSignatures: boolean;
  readonly sourceName: string;
  readonly receivedAt: number;
  readonly hops: string;
}

/** Flat name-value list. */
export function forwardedHeaders(from: Handing): Relayed["headers"] {
  const { get, names, passSignatures } = from;
  const headers: string[] = [];
  const wanted = new Map<string, string>();
  for (const name of ["Content-Encoding", ...names, ...(passSignatures ? endToEnd : [])])
    if (!wanted.has(name.toLowerCase())) wanted.set(name.toLowerCase(), name);
  for (const name of wanted.values()) {
    const value = get(name);
    if (value !== null && isForwardable(name) && isSendable(value)) headers.push(name, value);
  }
  const agent = get("user-agent");
  if (agent !== null && isSendable(agent)) headers.push("X-Forwarded-User-Agent", agent);
  headers.push("Posthorn-Source", asText(from.sourceName));
  headers.push("Posthorn-Received-At", new Date(from.receivedAt).toISOString());
  headers.push(hopHeader, from.hops);
  return headers;
}

/** What every client and server takes in a field. */
function isSendable(value: string): boolean {
  return /^[\x20-\x7e\t]{0,4096}$/.test(value);
}

/** Names are any text; a field takes ASCII. */
function asText(name: string): string {
  return /^[\x20-\x7e]+$/.test(name) ? name : encodeURIComponent(name);
}
