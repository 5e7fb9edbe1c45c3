import type { WebhookInput, WebhookView } from "../../engine/services.ts";
import type { VerificationObject } from "../schemas/webhook-verification.ts";
import type { WebhookUpdate } from "../schemas/webhook.ts";
import { present } from "./absent.ts";
import { formatInstantOrNull } from "./instant.ts";

export function toVerification({ verification, verify_url }: WebhookUpdate): Partial<WebhookInput> {
  return {
    ...present("verification", typeof verification === "object" ? fromObject(verification) : verification),
    ...present("verifyUrl", verify_url),
  };
}

function fromObject(given: VerificationObject | null): WebhookInput["verification"] {
  if (given === null) return null;
  return {
    method: given.method,
    ...present("requestedRatePerMinute", given.requested_rate_per_minute),
    ...present("whenUnsupported", given.when_unsupported),
  };
}

export function verificationJson({ webhook, dnsRecord }: WebhookView): Record<string, unknown> {
  const { verification } = webhook;
  return {
    method: verification.method,
    state: verification.state,
    detail: verification.detail,
    granted_at: formatInstantOrNull(verification.grantedAt),
    requested_rate_per_minute: verification.requestedRatePerMinute,
    allowed_rate_per_minute: verification.allowedRatePerMinute,
    when_unsupported: verification.whenUnsupported,
    dns_record: dnsRecord,
  };
}
