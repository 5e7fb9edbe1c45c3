import { PosthornError } from "../../core/errors.ts";
import type { RegistrationRules } from "../../core/profile.ts";
import { findProfile } from "../../core/profiles/index.ts";
import {
  type VerificationChoice,
  pendingVerification,
  settled,
} from "../../core/verification/verification-state.ts";
import type { Webhook, WebhookVerification } from "../../core/webhook.ts";
import type { VerificationInput, WebhookInput } from "../services.ts";
import type { ProblemList } from "../problem-list.ts";

/**
 * The verification of a changed webhook (C-32). It is the same object as before when nothing of it has to begin anew;
 * a new URL, method or requested rate begins it anew, because permission is for exactly one target (CEW-4.1.1-1).
 */
export function mergeVerification(
  base: Webhook,
  change: { readonly merged: Webhook; readonly input: WebhookInput; readonly problems: ProblemList },
): WebhookVerification {
  const { merged, input, problems } = change;
  const rules = findProfile(merged.profile)?.registration;
  const choice = readChoice(base, { input, rules, problems });
  checkRequired(choice, { merged, rules, problems });
  const { verification } = base;
  if (isSameQuestion(verification, choice) && isSameTarget(choice.method, [base.url, merged.url])) {
    if (verification.whenUnsupported === choice.whenUnsupported) return verification;
    if (verification.state === "granted") return { ...verification, whenUnsupported: choice.whenUnsupported };
  }
  return pendingVerification(choice);
}

/** True when somebody has to be asked before the webhook is served as it is now. */
export function needsAsking(base: Webhook | null, next: Webhook): boolean {
  return next.verification.state === "pending" && next.verification !== base?.verification;
}

interface ChoiceContext {
  readonly input: WebhookInput;
  readonly rules: RegistrationRules | undefined;
  readonly problems: ProblemList;
}

function readChoice(base: Webhook, { input, rules, problems }: ChoiceContext): VerificationChoice {
  const { verification, verifyUrl } = input;
  const given = verification ?? (verifyUrl === true ? "challenge" : verification);
  const choice = given === undefined ? keptChoice(base, rules) : readGiven(base, { given, rules, problems });
  if (verifyUrl === true && choice.method !== "challenge") {
    const message = 'verify_url: true is the method "challenge"; verification names another';
    problems.contradiction(["verify_url", "verification"], message);
  }
  return choice;
}

/** What nobody mentioned stays, unless the profile demands a method. */
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
  from: {
    readonly given: NonNullable<WebhookInput["verification"]> | null;
    readonly rules: RegistrationRules | undefined;
    readonly problems: ProblemList;
  },
): VerificationChoice {
  const { given, rules, problems } = from;
  if (given === null) return defaultChoice(rules);
  if (typeof given === "object") return readObject(base, { given, problems });
  return given === base.verification.method
    ? keptChoice(base, undefined)
    : { method: given, requestedRatePerMinute: null, whenUnsupported: "refuse" };
}

function readObject(
  base: Webhook,
  from: { readonly given: VerificationInput; readonly problems: ProblemList },
): VerificationChoice {
  const { given, problems } = from;
  const { method, requestedRatePerMinute: rate, whenUnsupported } = given;
  const before = method === base.verification.method ? base.verification : null;
  if (method !== "cloudevents") {
    const message = 'is for the method "cloudevents" alone';
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
  context: {
    readonly merged: Webhook;
    readonly rules: RegistrationRules | undefined;
    readonly problems: ProblemList;
  },
): void {
  const { merged, rules, problems } = context;
  if (rules?.verificationRequired !== true || choice.method === rules.verification) return;
  const message = `the profile ${merged.profile} takes no other verification than ${rules.verification}`;
  problems.contradiction(["verification", "profile"], message);
}

function isSameQuestion(before: WebhookVerification, choice: VerificationChoice): boolean {
  return before.method === choice.method && before.requestedRatePerMinute === choice.requestedRatePerMinute;
}

/** A DNS record proves a domain, the other methods one exact URL. */
function isSameTarget(method: VerificationChoice["method"], urls: readonly [string, string]): boolean {
  const [before, after] = urls;
  if (method === "none" || before === after) return true;
  return method === "dns" && URL.parse(before)?.hostname === URL.parse(after)?.hostname;
}

/** The result of a challenge counts for the change that it was made for. */
export function withProof(
  webhook: Webhook,
  { proven, current }: { readonly proven: Webhook; readonly current: Webhook },
): Webhook {
  const { method } = webhook.verification;
  if (method !== "challenge" || !needsAsking(current, webhook)) return webhook;
  if (proven.verification.state !== "granted" || proven.url !== webhook.url) {
    throw new PosthornError("conflict", "the webhook was changed meanwhile; send the change again");
  }
  return settled({ ...webhook, verification: proven.verification }, webhook.updatedAt);
}
