import type { Profile } from "../../core/profile.ts";
import { signatureSchemeNames } from "../../core/profile.ts";
import { verifierFor } from "../../check/sender/verifier.ts";
import type { MessageVerifier, Verification } from "../../receiver/message.ts";
import { ReceiverError } from "../../receiver/receiver-error.ts";
import { anyOf } from "../../receiver/schemes/any-of.ts";
import { UsageError } from "../failures.ts";
import type { ReceivedDelivery } from "./local-receiver.ts";

/** Checks the signature of a delivery; null when there is no secret to check it with. */
export type Check = (delivery: ReceivedDelivery) => Promise<Verification | null>;

export interface CheckKeys {
  /** `whsec_…`, `whsk_…` and `whpk_…` texts; several during a rotation. */
  readonly secrets: readonly string[];
  /** Whose schemes count; null takes every scheme that fits a key. */
  readonly profile: Profile | null;
  /** `keyid` of shared secrets in HTTP message signatures. */
  readonly keyId: string;
}

/** Verifies as the receiver kit does. Throws a UsageError that says what is wrong with a secret, never what it is. */
export function createCheck({ secrets, profile, keyId }: CheckKeys): Check {
  if (secrets.length === 0) return () => Promise.resolve(null);
  const schemes = profile ?? { name: "any", signatureSchemesAllowed: signatureSchemeNames };
  const verifier = anyOf(secrets.map((secret) => verifierOf(secret, { profile: schemes, keyId })));
  return async ({ method, path, headers, body, receivedAt }) =>
    verifier.verify(
      { method, url: path, body, headers: { get: (name) => headers[name.toLowerCase()] ?? null } },
      { nowSeconds: Math.floor(receivedAt.getTime() / 1_000) },
    );
}

function verifierOf(secret: string, how: Parameters<typeof verifierFor>[1]): MessageVerifier {
  try {
    return verifierFor(secret, how);
  } catch (error) {
    if (error instanceof RangeError || error instanceof ReceiverError)
      throw new UsageError(`--secret: ${error.message}`);
    throw error;
  }
}
