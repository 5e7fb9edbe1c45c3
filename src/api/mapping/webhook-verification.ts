import type { WebhookView } from "../../services/services.ts";
import { formatInstantOrNull } from "./instant.ts";

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
