/** Mutual TLS: the component that terminated the connection reports the sender's verified certificate. */
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import type { ClientCertificateSeen } from "../../core/http/client-certificate.ts";
import type { MessageVerifier } from "../message/message.ts";
import { utf8 } from "../providers/bytes.ts";
import { misconfigured } from "../providers/options.ts";
import { rejected, type Rejected } from "../providers/reading.ts";
import { type ByProducer, readByProducer } from "./by-producer.ts";
import { producerOf } from "./known-token.ts";

/** A message without a certificate is refused, so a missing proxy cannot open the endpoint. Throws `misconfigured`. */
export function prepareClientCertificateVerifier(
  crypto: ReceiverCrypto,
  /**
   * SHA-256 of the certificate (DER) or of its public key (SubjectPublicKeyInfo, DER), in hexadecimal; colons are
   * allowed. The fingerprint of the public key stays the same if the certificate is renewed with the same key.
   */ fingerprints: ByProducer,
): MessageVerifier {
  const known = readByProducer(fingerprints, "fingerprints", fingerprintBytes);
  return {
    verify(message, { nowSeconds }) {
      const seen = message.clientCertificate ?? null;
      if (seen === null) return rejected("missing_header", "no trusted proxy provided a client certificate");
      const outdated = outdatedAt(seen, nowSeconds);
      if (outdated !== null) return outdated;
      const { certificateSha256, publicKeySha256 } = seen;
      const producers = [certificateSha256, publicKeySha256].map((given) =>
        given === null ? null : producerOf(crypto, known, utf8(given)),
      );
      const producer = producers.find((name) => name !== null);
      if (producer === undefined || producer === null)
        return rejected("bad_token", "unknown client certificate");
      const verified = { kind: "verified", scheme: "client-certificate", producer, messageId: null } as const;
      return { ...verified, timestampSeconds: null, isKeyAuthentic: true };
    },
  };
}

function outdatedAt({ validSeconds }: ClientCertificateSeen, nowSeconds: number): Rejected | null {
  if (validSeconds === null) return null;
  if (nowSeconds > validSeconds.to) return rejected("too_old", "the client certificate has expired");
  if (nowSeconds < validSeconds.from) return rejected("too_new", "the client certificate is not valid yet");
  return null;
}

function fingerprintBytes(text: string): Uint8Array {
  const hex = text.replaceAll(":", "").toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(hex)) throw misconfigured("fingerprints must be SHA-256 in hexadecimal");
  return utf8(hex);
}
