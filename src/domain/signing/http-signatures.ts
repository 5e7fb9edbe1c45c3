/**
 * Creates HTTP Message Signatures (RFC 9421). The RFC leaves several choices to the application (section 1.4). Ours
 * are:
 *
 * - covered: `"@method" "@target-uri" "content-type" "content-digest" "idempotency-key"`, always all five;
 * - parameters: `created`, `keyid`, `alg`, `tag`;
 * - `keyid`: for an Ed25519 key the RFC 7638 thumbprint of its JWK, for a shared secret a name agreed with the
 *   receiver;
 * - `tag`: `posthorn`, so that other applications' signatures on the same message are not mistaken for ours;
 * - labels `sig1`, `sig2`, …, one for each key.
 *
 * This is the hot path, so the base is assembled from prepared parts instead of with the general builder in
 * signature-base.ts. A test compares the results of both.
 */
import { Buffer } from "node:buffer";
import { hash, sign as signEd25519 } from "node:crypto";
import { serializeString } from "../http/structured-fields.ts";
import type { DigestAlgorithm } from "./content-digest.ts";
import { type Content, contentBytes, placeContent, prepareMac } from "./signed-content.ts";
import { requireUnixSeconds, UnsignableMessageError } from "./schemes.ts";
import { type AsymmetricKey, privateKeyObject, publicKeyJwk, type SymmetricKey } from "./signing-key.ts";

/** A shared secret with the name by which the receiver identifies it. */
export interface NamedSymmetricKey extends SymmetricKey {
  /** `keyid`: printable ASCII. */
  readonly keyId: string;
}

export interface HttpSignatureOptions {
  /** Newest first; at least one. During a rotation, every key creates a signature. */
  readonly keys: readonly (AsymmetricKey | NamedSymmetricKey)[];
  /** Defaults to `posthorn`. */
  readonly tag?: string;
}

/** One request to sign, exactly as it is sent. */
export interface HttpMessageToSign {
  readonly method: string;
  /** Absolute and without a fragment. */
  readonly targetUri: string;
  readonly contentType: string;
  /** The value of the `Idempotency-Key` field, including quotes. */
  readonly idempotencyKey: string;
  /** Unix seconds when this request is sent. */
  readonly createdSeconds: number;
  readonly body: Uint8Array;
}

/** The values of the three header fields to send. */
export interface HttpSignatureFields {
  readonly contentDigest: string;
  readonly signatureInput: string;
  readonly signature: string;
}

export type HttpSignatureSigner = (message: HttpMessageToSign) => HttpSignatureFields;

const defaultTag = "posthorn";

const components = '("@method" "@target-uri" "content-type" "content-digest" "idempotency-key")';

interface PreparedKey {
  readonly label: string;
  /** The parameters that follow the value of `created`. */
  readonly parameters: string;
  readonly sign: (content: Content) => string;
}

/**
 * Prepares a signer. Throws {@link UnsignableMessageError} if `keys` is empty; the returned function throws it for a
 * message whose parts cannot be sent in a header.
 */
export function prepareHttpSignatureSigner(options: HttpSignatureOptions): HttpSignatureSigner {
  const keys = options.keys.map((key, index) =>
    prepareKey(key, `sig${index + 1}`, options.tag ?? defaultTag),
  );
  if (keys.length === 0) throw new UnsignableMessageError("no_keys", "a signer needs a key");
  return (message) => {
    requireSignable(message);
    const digest = contentDigest(message.body);
    const lines = coveredLines(message, digest);
    const signatureInput: string[] = [];
    const signature: string[] = [];
    for (const { label, parameters, sign } of keys) {
      const params = `${components};created=${message.createdSeconds}${parameters}`;
      signatureInput.push(`${label}=${params}`);
      const content = placeContent(`${lines}"@signature-params": ${params}`, nothing);
      signature.push(`${label}=:${sign(content)}:`);
    }
    return {
      contentDigest: digest,
      signatureInput: signatureInput.join(", "),
      signature: signature.join(", "),
    };
  };
}

const nothing = Buffer.alloc(0);

function coveredLines(message: HttpMessageToSign, digest: string): string {
  return `"@method": ${message.method}
"@target-uri": ${message.targetUri}
"content-type": ${message.contentType}
"content-digest": ${digest}
"idempotency-key": ${message.idempotencyKey}
`;
}

function prepareKey(key: AsymmetricKey | NamedSymmetricKey, label: string, tag: string): PreparedKey {
  const keyId = key.kind === "asymmetric" ? publicKeyJwk(key.publicKey).kid : key.keyId;
  const algorithm = key.kind === "asymmetric" ? "ed25519" : "hmac-sha256";
  const parameters = `;keyid=${serializeString(keyId)};alg="${algorithm}";tag=${serializeString(tag)}`;
  return { label, parameters, sign: prepareSign(key) };
}

function prepareSign(key: AsymmetricKey | NamedSymmetricKey): (content: Content) => string {
  if (key.kind === "symmetric") return prepareMac(key.bytes, "base64");
  const privateKey = privateKeyObject(key.seed);
  return (content) => signEd25519(null, contentBytes(content), privateKey).toString("base64");
}

function requireSignable(message: HttpMessageToSign): void {
  requireUnixSeconds(message.createdSeconds);
  if (!/^https?:\/\/[!"$-~]+$/.test(message.targetUri)) {
    throw new UnsignableMessageError(
      "target_uri_invalid",
      "a target must be an absolute URL without a fragment",
    );
  }
  for (const value of [message.method, message.contentType, message.idempotencyKey]) {
    if (/^[!-~](?:[\t -~]*[!-~])?$/.test(value)) continue;
    throw new UnsignableMessageError(
      "field_invalid",
      "a signed value must be printable ASCII without outer spaces",
    );
  }
}

/** The value of `Content-Digest` for a body (RFC 9530): the bytes as sent, after any content coding. */
export function contentDigest(body: Uint8Array, algorithm: DigestAlgorithm = "sha-256"): string {
  const name = algorithm === "sha-256" ? "sha256" : "sha512";
  return `${algorithm}=:${hash(name, body, "base64")}:`;
}
