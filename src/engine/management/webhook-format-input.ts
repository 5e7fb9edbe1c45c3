import {
  type PayloadFormatName,
  payloadFormats,
  type SignatureSchemeName,
  signatureSchemeNames,
} from "../../core/profile.ts";
import { findProfile, profiles } from "../../core/profiles/index.ts";
import type { WebhookAgreements } from "../../core/webhook.ts";
import { webhookDefaults } from "../../core/webhook.ts";
import { isRecord, type ProblemList } from "./problem-list.ts";

interface Change {
  readonly change: unknown;
  readonly problems: ProblemList;
}

export function readProfile(value: unknown, problems: ProblemList): string {
  if (typeof value === "string" && findProfile(value) !== undefined) return value;
  problems.add({
    field: "profile",
    message: `must be one of ${profiles.map((profile) => profile.name).join(", ")}`,
  });
  return "";
}

/** `null` is as the profile says; whether the profile allows them is judged when both are known. */
export function mergeSchemes(
  base: readonly SignatureSchemeName[] | null,
  { change, problems }: Change,
): readonly SignatureSchemeName[] | null {
  if (change === undefined) return base;
  if (change === null) return null;
  if (!Array.isArray(change) || change.length === 0 || new Set(change).size !== change.length) {
    const message = `must list some of ${signatureSchemeNames.join(", ")}, each once`;
    problems.add({ field: "signing.schemes", message });
    return null;
  }
  return change
    .map((scheme: unknown, index) =>
      problems.oneOf(`signing.schemes[${index}]`, { value: scheme, allowed: signatureSchemeNames }),
    )
    .filter((scheme) => scheme !== null);
}

/** `null` is the first format of the profile. */
export function mergePayloadFormat(
  base: PayloadFormatName | null,
  { change, problems }: Change,
): PayloadFormatName | null {
  if (change === undefined) return base;
  if (change === null) return null;
  return problems.oneOf("payload_format", { value: change, allowed: payloadFormats });
}

const agreementPaths = {
  acceptMultiStatus: "agreements.accept_multi_status",
  followPermanentRedirect: "agreements.follow_permanent_redirect",
  idempotencyEnforced: "agreements.idempotency_enforced",
} as const satisfies Record<keyof WebhookAgreements, string>;

/** `null` ends all agreements (EDS-9.2-2). */
export function mergeAgreements(base: WebhookAgreements, { change, problems }: Change): WebhookAgreements {
  if (change === undefined) return base;
  if (change === null) return webhookDefaults.agreements;
  if (!isRecord(change)) {
    problems.add({ field: "agreements", message: "must be an object, or null" });
    return base;
  }
  const read = (name: keyof WebhookAgreements): boolean =>
    problems.flag(agreementPaths[name], { value: change[name], before: base[name] });
  return {
    acceptMultiStatus: read("acceptMultiStatus"),
    followPermanentRedirect: read("followPermanentRedirect"),
    idempotencyEnforced: read("idempotencyEnforced"),
  };
}
