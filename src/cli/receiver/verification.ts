import type { Profile } from "../../core/profile.ts";
import { signatureSchemeNames } from "../../core/profile.ts";
import type { MessageVerifier, Verification } from "../../receiver/message/message.ts";
import { ReceiverError } from "../../receiver/receiver-error.ts";
import { UsageError } from "../failures.ts";
import type { ReceivedDelivery } from "./local-receiver.ts";

/** Verifies the signature of a delivery. Null without a secret. */
export type Check = (delivery: ReceivedDelivery) => Promise<Verification | null>;

export interface CheckKeys {
  /** `whsec_…`, `whsk_…` and `whpk_…` keys. Several during a rotation. */
  readonly secrets: readonly string[];
  /** Limits the accepted schemes. Null accepts every scheme that matches a key. */
  readonly profile: Profile | null;
  /** `keyid` of shared secrets in HTTP message signatures. */
  readonly keyId: string;
}

/**
 * Verifies with the receiver kit, which is loaded on demand. Throws a UsageError that describes the problem of a
 * secret, never its value.
 */
export async function createCheck({ secrets, profile, keyId }: CheckKeys): Promise<Check> {
  if (secrets.length === 0) return () => Promise.resolve(null);
  const { verifierFor } = await import("../../check/sender/verifier.ts");
  const { anyOf } = await import("../../receiver/schemes/any-of.ts");
  const schemes = profile ?? { name: "any", signatureSchemesAllowed: signatureSchemeNames };
  const verifier = anyOf(
    secrets.map((secret) => explained(() => verifierFor(secret, { profile: schemes, keyId }))),
  );
  return async ({ method, path, headers, body, receivedAt }) =>
    verifier.verify(
      { method, url: path, body, headers: { get: (name) => headers[name.toLowerCase()] ?? null } },
      { nowSeconds: Math.floor(receivedAt.getTime() / 1_000) },
    );
}

function explained(create: () => MessageVerifier): MessageVerifier {
  try {
    return create();
  } catch (error) {
    if (error instanceof RangeError || error instanceof ReceiverError)
      throw new UsageError(`--secret: ${error.message}`);
    throw error;
  }
}
