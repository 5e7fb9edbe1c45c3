/** Fields of a webhook whose values cannot be derived from their bounds alone. */
import { randomBytes } from "node:crypto";
import type { Profile } from "../../../src/domain/profile.ts";
import { profiles } from "../../../src/domain/profiles/index.ts";
import { validPair } from "../../peers/certificates.ts";
import type { Specials } from "./probes.fixture.ts";

export const newSecret = () => `whsec_${randomBytes(32).toString("base64")}`;

/**
 * Fields that select a suitable profile. Empty if no profile is suitable, in which case the value must be refused with
 * all profiles.
 */
function withProfile(fits: (profile: Profile) => boolean): object {
  const found = profiles.find(fits);
  return found === undefined ? {} : { profile: found.name, ...needsOf(found) };
}

/** Additional fields that the profile requires. */
function needsOf({ registration }: Profile): object {
  return registration.bearerTokenRequired ? { bearerToken: "token" } : {};
}

const pemOf = (pem: string) => [pem, pem.padEnd(16_384, "\n")];

export const webhookSpecials: Specials = {
  secret: { accepted: [newSecret] },
  tenantId: { accepted: ["default"] },
  profile: {
    beside: (value) => {
      const profile = profiles.find(({ name }) => name === value);
      return profile === undefined ? {} : needsOf(profile);
    },
  },
  schemes: {
    accepted: [["v1a"], ["v1"], ["x-webhook-v1"], ["rfc9421-ed25519"], ["rfc9421-hmac-sha256"]],
    beside: (value) => withProfile(({ signatureSchemesAllowed: allowed }) => includesAll(allowed, value)),
  },
  payloadFormat: {
    beside: (value) => withProfile(({ payloadFormats: allowed }) => includesAll(allowed, [value])),
  },
  bearerTokenIn: { beside: (value) => (value === "query" ? { bearerToken: "token" } : {}) },
  migrationHeaders: { beside: () => withProfile(({ migrationHeaders }) => migrationHeaders.length > 0) },
  "agreements.followPermanentRedirect": {
    beside: () => withProfile(({ registration }) => registration.permanentRedirectAllowed),
  },
  verification: { members: { method: "cloudevents" } },
  "verification.method": { accepted: ["none", "challenge", "cloudevents", "dns"] },
  clientCertificate: { members: { certificatePem: validPair.cert, privateKeyPem: validPair.key } },
  "clientCertificate.certificatePem": { accepted: pemOf(validPair.cert) },
  "clientCertificate.privateKeyPem": { accepted: pemOf(validPair.key) },
  oauth2: {
    members: { tokenUrl: "https://example.com/token", clientId: "client", clientSecret: "secret" },
  },
};

function includesAll(allowed: readonly unknown[], values: unknown): boolean {
  return Array.isArray(values) && values.every((value) => allowed.includes(value));
}
