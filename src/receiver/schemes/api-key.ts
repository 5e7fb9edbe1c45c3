/** A secret in a header or in the query. It authenticates the sender, but does not protect against alteration. */
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import { queryOf } from "../message/message-url.ts";
import type { MessageVerifier, ReceivedMessage } from "../message/message.ts";
import { utf8 } from "../providers/bytes.ts";
import { misconfigured } from "../providers/options.ts";
import { headerOf, isRejected, rejected, type Rejected } from "../providers/reading.ts";
import { type ByProducer, readByProducer } from "./by-producer.ts";
import { producerOf } from "./known-token.ts";

/** Give either `header` or `query`. */
export interface ApiKeyOptions {
  /** Name of the header field, such as `X-Api-Key`. */
  readonly header?: string | undefined;
  /** Name of the query parameter. Addresses end up in logs, so prefer a header. */
  readonly query?: string | undefined;
  /** Text before the key in the header, such as `Token `. */
  readonly prefix?: string | undefined;
  readonly keys: ByProducer;
}

const keyLengthMax = 4_096;
export const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;

/** A key contains neither a message id nor a time. Throws ReceiverError `misconfigured` for invalid options. */
export function prepareApiKeyVerifier(
  crypto: ReceiverCrypto,
  options: ApiKeyOptions,
  scheme = "api-key",
): MessageVerifier {
  const { header, query } = options;
  if ((header === undefined) === (query === undefined)) throw misconfigured("give either header or query");
  if (header !== undefined && !headerName.test(header))
    throw misconfigured("header must be the name of a header field");
  if (query === "") throw misconfigured("query must be the name of a query parameter");
  const known = readByProducer(options.keys, "keys", utf8);
  return {
    verify(message) {
      const given = keyOf(message, options);
      if (isRejected(given)) return given;
      const producer = producerOf(crypto, known, utf8(given));
      if (producer === null) return rejected("bad_token", "unknown key");
      const verified = { kind: "verified", scheme, producer, messageId: null } as const;
      return { ...verified, timestampSeconds: null, isKeyAuthentic: true };
    },
  };
}

function keyOf(message: ReceivedMessage, { header, query, prefix = "" }: ApiKeyOptions): string | Rejected {
  if (header !== undefined) {
    const value = headerOf(message, header);
    if (isRejected(value) || value.startsWith(prefix)) {
      return isRejected(value) ? value : value.slice(prefix.length);
    }
    return rejected("malformed_header", `${header} does not begin with ${prefix}`);
  }
  const [first, ...others] = queryOf(message.url).getAll(query ?? "");
  if (first === undefined || first === "") return rejected("missing_header", "the query has no key");
  if (others.length > 0) return rejected("malformed_header", "the query has several keys");
  if (first.length > keyLengthMax) return rejected("malformed_header", "the key in the query is too long");
  return first;
}
