/** Parses `Content-Digest` (RFC 9530). Computing the digest is left to the caller, which has a hash function. */
import { parseDictionary } from "../http/structured-fields.ts";

/** The secure algorithms. All others in the registry are broken or do not resist attackers. */
export type DigestAlgorithm = "sha-256" | "sha-512";

const digestBytes: Readonly<Record<DigestAlgorithm, number>> = { "sha-256": 32, "sha-512": 64 };

export interface ContentDigest {
  readonly algorithm: DigestAlgorithm;
  readonly digest: Uint8Array;
}

/**
 * `digests` contains the digests of known algorithms and is never empty. Unknown algorithms are ignored, as the RFC
 * requires. `detail` is a human-readable sentence.
 */
export type ParsedContentDigest =
  | { readonly kind: "parsed"; readonly digests: readonly ContentDigest[] }
  | { readonly kind: "malformed"; readonly detail: string };

/** Parses a field value. It is malformed if the value of a known algorithm is not a digest of the right length. */
export function parseContentDigest(field: string): ParsedContentDigest {
  const parsed = parseDictionary(field);
  if (parsed.kind === "malformed") return malformed("Content-Digest is not a structured dictionary");
  const digests: ContentDigest[] = [];
  for (const [algorithm, member] of parsed.value) {
    if (!isDigestAlgorithm(algorithm)) continue;
    const bytes = member.kind === "item" && member.value.kind === "bytes" ? member.value.value : null;
    if (bytes?.length !== digestBytes[algorithm]) {
      return malformed(`Content-Digest: ${algorithm} is not ${digestBytes[algorithm]} bytes`);
    }
    digests.push({ algorithm, digest: bytes });
  }
  if (digests.length === 0) return malformed("Content-Digest has neither sha-256 nor sha-512");
  return { kind: "parsed", digests };
}

function isDigestAlgorithm(name: string): name is DigestAlgorithm {
  return name === "sha-256" || name === "sha-512";
}

function malformed(detail: string): ParsedContentDigest {
  return { kind: "malformed", detail };
}
