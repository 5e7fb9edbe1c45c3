/** Keys for HTTP Message Signatures, looked up by `keyid`. */
import { encodeBase64Url } from "../../core/base64.ts";
import type { ReceiverCrypto } from "../crypto/crypto.ts";
import { utf8 } from "../providers/bytes.ts";
import { andThen, type MaybePromise, whenAll } from "../crypto/maybe-promise.ts";
import { keyTexts, misconfigured } from "../providers/options.ts";
import { readVerificationKey, type VerificationKey } from "./key-text.ts";

/** One key of one producer. */
export interface HttpSignatureKey {
  /** `whpk_…` for `ed25519`, `whsec_…` for `hmac-sha256`. */
  readonly key: string;
  /** `keyid` of its signatures. Defaults to the RFC 7638 thumbprint for a public key; required for a shared secret. */
  readonly keyId?: string | undefined;
  /** Defaults to `default`. */
  readonly producer?: string | undefined;
}

export interface FoundKey {
  readonly producer: string;
  readonly key: VerificationKey;
  /** Name in RFC 9421's registry of algorithms. */
  readonly algorithm: "ed25519" | "hmac-sha256";
}

/** Finds a key; null for an unknown `keyid`. */
export type KeyIndex = (keyId: string) => FoundKey | null;

interface ReadKey extends FoundKey {
  readonly keyId: string | null;
}

const keysMax = 1024;

/**
 * Parses all keys now, and builds the index on first use: thumbprints need a hash, which may be a promise. Throws
 * ReceiverError `misconfigured`.
 */
export function prepareKeyIndex(
  crypto: ReceiverCrypto,
  keys: readonly HttpSignatureKey[],
): () => MaybePromise<KeyIndex> {
  if (!Array.isArray(keys) || keys.length === 0)
    throw misconfigured(
      "keys must be a list of at least one key, such as [{ key: process.env.WEBHOOK_PUBLIC_KEY }]",
    );
  if (keys.length > keysMax) throw misconfigured(`no more than ${keysMax} keys can be given`);
  const read = keys.map(readKey);
  const names = read.flatMap(({ keyId }) => keyId ?? []);
  if (new Set(names).size !== names.length) throw misconfigured("two keys have the same keyId");
  let index: MaybePromise<KeyIndex> | null = null;
  return () => {
    index ??= makeIndex(crypto, read);
    return index;
  };
}

function readKey({ key: text, keyId: given, producer = "default" }: HttpSignatureKey): ReadKey {
  const keyId = given ?? null;
  const [keyText = ""] = keyTexts(text, "key of an entry of keys");
  const key = readVerificationKey(keyText);
  if (keyId !== null && !/^[\x20-\x7e]{1,255}$/.test(keyId)) {
    throw misconfigured("a keyId must be 1 to 255 printable ASCII characters");
  }
  if (key.kind === "ed25519") return { producer, key, keyId, algorithm: "ed25519" };
  if (keyId === null) throw misconfigured("a shared secret (whsec_) needs the keyId that its sender uses");
  return { producer, key, keyId, algorithm: "hmac-sha256" };
}

function makeIndex(crypto: ReceiverCrypto, keys: readonly ReadKey[]): MaybePromise<KeyIndex> {
  const keyIds = keys.map(({ keyId, key }) => keyId ?? thumbprint(crypto, key.bytes));
  return andThen(whenAll(keyIds), (names) => {
    const found = new Map<string, FoundKey>();
    for (const [position, key] of keys.entries()) found.set(names[position] ?? "", key);
    return (keyId: string) => found.get(keyId) ?? null;
  });
}

/** RFC 7638: the hash of the JWK's required members in the defined order. */
function thumbprint(crypto: ReceiverCrypto, publicKey: Uint8Array): MaybePromise<string> {
  const jwk = JSON.stringify({ crv: "Ed25519", kty: "OKP", x: encodeBase64Url(publicKey) });
  return andThen(crypto.digest({ hash: "sha256", data: utf8(jwk) }), encodeBase64Url);
}
