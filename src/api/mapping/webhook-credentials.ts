import { oauth2Shown } from "../../core/fields/webhook-credentials.ts";
import type { WebhookView } from "../../services/services.ts";
import { shownJson } from "./fields.ts";
import { formatInstant } from "./instant.ts";

/** Replaces a secret in responses. It cannot be sent back as a value. */
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
