import { listHeaders, receivedHeaders } from "../message/received-headers.ts";
import type { MessageFacts } from "../message/verified-message.ts";
import { withoutToken } from "../message/message-url.ts";

/** Credentials are not needed after a message is verified, and should not be stored in a database. */
const droppedHeaders = new Set(["authorization", "cookie", "proxy-authorization"]);

interface Envelope extends Omit<MessageFacts, "message" | "attempt"> {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Everything about a message except its body, as text for a store. */
export function writeEnvelope(facts: MessageFacts): string {
  const { message, scheme, producer, messageId, timestampSeconds, key, receivedAt } = facts;
  const { method, url } = message;
  const headers = [...listHeaders(message.headers)].filter(
    ([name]) => !droppedHeaders.has(name.toLowerCase()),
  );
  const verified = { scheme, producer, messageId, timestampSeconds, key, receivedAt };
  return JSON.stringify({ ...verified, method, url: withoutToken(url), headers } satisfies Envelope);
}

export function readEnvelope(entry: {
  readonly envelope: string;
  readonly body: Uint8Array;
  readonly attempt: number;
}): MessageFacts {
  const { method, url, headers, ...facts } = JSON.parse(entry.envelope) as Envelope;
  const message = { method, url, headers: receivedHeaders(headers), body: entry.body };
  return { ...facts, message, attempt: entry.attempt };
}
