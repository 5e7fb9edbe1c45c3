/**
 * Name and password in `Authorization` (RFC 7617). They authenticate the sender, but do not protect against alteration.
 */
import { decodeBase64 } from "../../core/base64.ts";
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import type { MessageVerifier } from "../message/message.ts";
import { utf8 } from "../providers/bytes.ts";
import { keyTexts, misconfigured } from "../providers/options.ts";
import { headerOf, isRejected, rejected } from "../providers/reading.ts";
import { producerOf } from "./known-token.ts";

export interface BasicOptions {
  /** The name becomes `producer` of verified messages. It must not contain a colon. */
  readonly username: string;
  /** One password, or several during a rotation. */
  readonly passwords: string | readonly string[];
}

/** The credentials contain neither a message id nor a time. Throws ReceiverError `misconfigured`. */
export function prepareBasicVerifier(
  crypto: ReceiverCrypto,
  { username, passwords }: BasicOptions,
): MessageVerifier {
  if (typeof username !== "string" || !/^[^:\p{Cc}]{1,255}$/u.test(username))
    throw misconfigured("username must be 1 to 255 characters without a colon");
  const known = keyTexts(passwords, "passwords").map((password) => ({
    producer: username,
    value: utf8(`${username}:${password}`),
  }));
  return {
    verify(message) {
      const header = headerOf(message, "Authorization");
      if (isRejected(header)) return header;
      const [, encoded = ""] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header) ?? [];
      const given = encoded === "" ? null : decodeBase64(encoded);
      if (given === null) return rejected("malformed_header", "Authorization is not Basic credentials");
      const producer = producerOf(crypto, known, given);
      if (producer === null) return rejected("bad_token", "unknown name or password");
      const verified = { kind: "verified", scheme: "basic", producer, messageId: null } as const;
      return { ...verified, timestampSeconds: null, isKeyAuthentic: true };
    },
  };
}
