import {
  type MessageVerifier,
  receivedHeaders,
  type ReceivedMessage,
  type Verification,
} from "../../src/receiver/message/message.ts";

export const nowMs = 1_800_000_000_000;

/** A message from an honest sender. `headers` override the usual headers; undefined removes one. */
export function messageWith(
  changes: {
    readonly method?: string;
    readonly url?: string;
    readonly body?: string | Uint8Array;
    readonly headers?: Readonly<Record<string, string | undefined>>;
  } = {},
): ReceivedMessage {
  const { method = "POST", url = "/hooks", body = '{"order":1}', headers = {} } = changes;
  const fields = {
    "content-type": "application/json",
    "idempotency-key": '"key-1"',
    "x-producer": "shop",
    "x-time": String(nowMs / 1_000),
    ...headers,
  };
  return {
    method,
    url,
    headers: receivedHeaders(Object.entries(fields)),
    body: typeof body === "string" ? new TextEncoder().encode(body) : body,
  };
}

/**
 * A verifier that trusts any sender. `X-Producer` is the sender's name; without it, the message counts as forged.
 * `X-Id` and `X-Time` count as signed.
 */
export const trustingVerifier: MessageVerifier = {
  verify: ({ headers }): Verification => {
    const producer = headers.get("x-producer");
    if (producer === null) return { kind: "rejected", cause: "no_matching_signature", detail: "no producer" };
    const time = headers.get("x-time");
    return {
      kind: "verified",
      scheme: "trust",
      producer,
      messageId: headers.get("x-id"),
      timestampSeconds: time === null ? null : Number(time),
      isKeyAuthentic: headers.get("x-key-unsigned") === null,
    };
  },
};

/** A response body as text. */
export function textOf({ body }: { readonly body: Uint8Array | string | null }): string {
  if (body === null) return "";
  return typeof body === "string" ? body : new TextDecoder().decode(body);
}
