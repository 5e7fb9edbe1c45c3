import { PosthornError } from "../../domain/errors.ts";
import type { RegistrationRules } from "../../domain/profile.ts";
import { findProfile } from "../../domain/profiles/index.ts";
import { type VerificationChoice, pendingVerification, settled } from "../verification/verification.ts";
import type { Webhook, WebhookVerification } from "../../domain/webhook.ts";
import type { VerificationInput, WebhookInput } from "../services.ts";
import type { ProblemList } from "../input.ts";

/**
 * The verification of a changed webhook. Returns the same object if nothing has to be verified again. A new URL, method
 * or requested rate restarts verification, because permission applies to exactly one target (CEW-4.1.1-1).
 */
export function mergeVerification(
  base: Webhook,
  merged: Webhook,
  input: WebhookInput,
  problems: ProblemList,
): WebhookVerification {
  const rules = findProfile(merged.profile)?.registration;
  const choice = readChoice(base, input, rules, problems);
  checkRequired(choice, merged, rules, problems);
  const { verification } = base;
  if (isSameQuestion(verification, choice) && isSameTarget(choice.method, [base.url, merged.url])) {
    if (verification.whenUnsupported === choice.whenUnsupported) return verification;
    if (verification.state === "granted") return { ...verification, whenUnsupported: choice.whenUnsupported };
  }
  return pendingVerification(choice);
}

/** Whether the webhook must be verified before it receives events in its new state. */
export function needsAsking(base: Webhook | null, next: Webhook): boolean {
  return next.verification.state === "pending" && next.verification !== base?.verification;
}

function readChoice(
  base: Webhook,
  input: WebhookInput,
  rules: RegistrationRules | undefined,
  problems: ProblemList,
): VerificationChoice {
  const { verification, verifyUrl } = input;
  const given = verification ?? (verifyUrl === true ? "challenge" : verification);
  const choice = given === undefined ? keptChoice(base, rules) : readGiven(base, given, rules, problems);
  if (verifyUrl === true && choice.method !== "challenge") {
    const message = 'verify_url: true is the method "challenge"; verification names a different one';
    problems.contradiction(["verify_url", "verification"], message);
  }
  return choice;
}

/**
 * The verification choice for an input that omits the method. The current method is kept unless the profile requires a
 * different one.
 */
function keptChoice(base: Webhook, rules: RegistrationRules | undefined): VerificationChoice {
  const { method, requestedRatePerMinute, whenUnsupported } = base.verification;
  const isNew = base.url === "";
  if (isNew || (rules?.verificationRequired === true && rules.verification !== method)) {
    return defaultChoice(rules);
  }
  return { method, requestedRatePerMinute, whenUnsupported };
}

function defaultChoice(rules: RegistrationRules | undefined): VerificationChoice {
  return {
    method: rules?.verification ?? "none",
    requestedRatePerMinute: null,
    whenUnsupported: "refuse",
  };
}

function readGiven(
  base: Webhook,
  given: NonNullable<WebhookInput["verification"]> | null,
  rules: RegistrationRules | undefined,
  problems: ProblemList,
): VerificationChoice {
  if (given === null) return defaultChoice(rules);
  if (typeof given === "object") return readObject(base, given, problems);
  return given === base.verification.method
    ? keptChoice(base, undefined)
    : { method: given, requestedRatePerMinute: null, whenUnsupported: "refuse" };
}

function readObject(base: Webhook, given: VerificationInput, problems: ProblemList): VerificationChoice {
  const { method, requestedRatePerMinute: rate, whenUnsupported } = given;
  const before = method === base.verification.method ? base.verification : null;
  if (method !== "cloudevents") {
    const message = 'applies only to the method "cloudevents"';
    if (rate !== undefined && rate !== null)
      problems.add({ field: "verification.requested_rate_per_minute", message });
    if (whenUnsupported !== undefined) problems.add({ field: "verification.when_unsupported", message });
  }
  return {
    method,
    requestedRatePerMinute: rate === undefined ? (before?.requestedRatePerMinute ?? null) : rate,
    whenUnsupported: whenUnsupported ?? before?.whenUnsupported ?? "refuse",
  };
}

function checkRequired(
  choice: VerificationChoice,
  merged: Webhook,
  rules: RegistrationRules | undefined,
  problems: ProblemList,
): void {
  if (rules?.verificationRequired !== true || choice.method === rules.verification) return;
  const message = `the profile ${merged.profile} requires the verification ${rules.verification}`;
  problems.contradiction(["verification", "profile"], message);
}

function isSameQuestion(before: WebhookVerification, choice: VerificationChoice): boolean {
  return before.method === choice.method && before.requestedRatePerMinute === choice.requestedRatePerMinute;
}

/**
 * Whether two URLs are the same target for a method. A DNS record proves a domain; the other methods prove one exact
 * URL.
 */
function isSameTarget(method: VerificationChoice["method"], urls: readonly [string, string]): boolean {
  const [before, after] = urls;
  if (method === "none" || before === after) return true;
  return method === "dns" && URL.parse(before)?.hostname === URL.parse(after)?.hostname;
}

/** Applies the result of a challenge, which is valid only for the change that triggered it. */
export function withProof(webhook: Webhook, proven: Webhook, current: Webhook): Webhook {
  const { method } = webhook.verification;
  if (method !== "challenge" || !needsAsking(current, webhook)) return webhook;
  if (proven.verification.state !== "granted" || proven.url !== webhook.url) {
    throw new PosthornError("conflict", "the webhook was changed by another request; send the change again");
  }
  return settled({ ...webhook, verification: proven.verification }, webhook.updatedAt);
}
