import { hash } from "node:crypto";
import type { DigestAlgorithm } from "./content-digest-field.ts";

/** The value of `Content-Digest` for a body (RFC 9530): the bytes as sent, after any content coding. */
export function contentDigest(body: Uint8Array, algorithm: DigestAlgorithm = "sha-256"): string {
  const name = algorithm === "sha-256" ? "sha256" : "sha512";
  return `${algorithm}=:${hash(name, body, "base64")}:`;
}
