/** Bearer tokens (RFC 6750). They authenticate the sender, but do not protect against alteration. */
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import { queryOf } from "../message/message-url.ts";
import type { MessageVerifier, ReceivedMessage } from "../message/message.ts";
import { utf8 } from "../providers/bytes.ts";
import { misconfigured } from "../providers/options.ts";
import { isRejected, type Rejected, rejected } from "../providers/reading.ts";
import { type ByProducer, readByProducer } from "./by-producer.ts";
import { producerOf } from "./known-token.ts";

/** A token is 1 to 1,024 visible ASCII characters. */
export interface BearerOptions {
  readonly tokens: ByProducer;
  /**
   * True also accepts `?access_token=…`, for senders that cannot set a header. Addresses end up in logs, so the default
   * is false.
   */
  readonly allowQueryParameter?: boolean | undefined;
}

const tokenLengthMax = 4096;

/** A token contains neither a message id nor a time. Throws ReceiverError `misconfigured` for invalid tokens. */
export function prepareBearerVerifier(crypto: ReceiverCrypto, options: BearerOptions): MessageVerifier {
  const known = readByProducer(options.tokens, "tokens", tokenBytes);
  return {
    verify(message) {
      const token = tokenOf(message, options);
      if (isRejected(token)) return token;
      const producer = producerOf(crypto, known, utf8(token));
      if (producer === null) return rejected("bad_token", "unknown bearer token");
      const verified = { kind: "verified", scheme: "bearer", producer, messageId: null } as const;
      return { ...verified, timestampSeconds: null, isKeyAuthentic: true };
    },
  };
}

function tokenBytes(text: string): Uint8Array {
  if (!/^[\x21-\x7e]+$/.test(text)) throw misconfigured("a bearer token must be visible ASCII");
  return utf8(text);
}

function tokenOf(message: ReceivedMessage, options: BearerOptions): string | Rejected {
  const inHeader = message.headers.get("authorization")?.trim() ?? "";
  const inQuery = queryOf(message.url).getAll("access_token");
  if (inHeader.length > tokenLengthMax) return rejected("malformed_header", "Authorization is too long");
  if (inHeader !== "") {
    // RFC 6750, section 2: one method per message. With two tokens it would be ambiguous which one counts.
    if (inQuery.length > 0)
      return rejected("malformed_header", "there are tokens in both Authorization and the query");
    const [, token] = /^bearer +([\x21-\x7e]+)$/i.exec(inHeader) ?? [];
    return token ?? rejected("malformed_header", "Authorization is not a Bearer token");
  }
  const [first, ...others] = inQuery;
  if (first === undefined) return rejected("missing_header", "Authorization is missing");
  if (options.allowQueryParameter !== true) {
    return rejected(
      "missing_header",
      "Authorization is missing, and access_token in the query is not allowed",
    );
  }
  if (others.length > 0)
    return rejected("malformed_header", "access_token appears several times in the query");
  return first;
}
