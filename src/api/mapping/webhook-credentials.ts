import { oauth2Shown } from "../../core/fields/webhook-credentials.ts";
import type { WebhookView } from "../../services/services.ts";
import { shownJson } from "./fields.ts";
import { formatInstant } from "./instant.ts";

/** Stands for a value that is never shown; it is not a value that could be sent back. */
const masked = "…";

export function credentialsJson(view: WebhookView): Record<string, unknown> {
  const { webhook, clientCertificate, credentialHeaderNames } = view;
  return {
    has_bearer_token: view.hasBearerToken,
    credential_headers: Object.fromEntries(credentialHeaderNames.map((name) => [name, masked])),
    client_certificate: clientCertificate && {
      subject: clientCertificate.subject,
      issuer: clientCertificate.issuer,
      fingerprint_sha256: clientCertificate.fingerprint,
      expires_at: formatInstant(clientCertificate.expiresAt),
      warning: clientCertificate.warning,
    },
    oauth2: webhook.oauth2 && shownJson(oauth2Shown, webhook.oauth2),
  };
}
