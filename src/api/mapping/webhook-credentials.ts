import type { WebhookInput, WebhookView } from "../../engine/services.ts";
import type { WebhookUpdate } from "../schemas/webhook.ts";
import { present } from "./absent.ts";
import { formatInstant } from "./instant.ts";

export function toCredentials(body: WebhookUpdate): Partial<WebhookInput> {
  return {
    ...present("bearerToken", body.bearer_token),
    ...present("bearerTokenIn", body.bearer_token_in),
    ...present("credentialHeaders", body.credential_headers),
    ...present("clientCertificate", body.client_certificate && toCertificate(body.client_certificate)),
    ...present("oauth2", body.oauth2 && toOAuth2(body.oauth2)),
  };
}

function toCertificate(given: NonNullable<WebhookUpdate["client_certificate"]>) {
  return { certificatePem: given.certificate_pem, privateKeyPem: given.private_key_pem };
}

function toOAuth2(given: NonNullable<WebhookUpdate["oauth2"]>): NonNullable<WebhookInput["oauth2"]> {
  return {
    ...present("tokenUrl", given.token_url),
    ...present("clientId", given.client_id),
    ...present("clientSecret", given.client_secret),
    ...present("scope", given.scope),
    ...present("audience", given.audience),
    ...present("authentication", given.authentication),
  };
}

/** Stands for a value that is never shown; it is not a value that could be sent back. */
const masked = "…";

export function credentialsJson(view: WebhookView): Record<string, unknown> {
  const { webhook, clientCertificate, credentialHeaderNames } = view;
  return {
    has_bearer_token: view.hasBearerToken,
    bearer_token_in: webhook.bearerTokenIn,
    credential_headers: Object.fromEntries(credentialHeaderNames.map((name) => [name, masked])),
    client_certificate: clientCertificate && {
      subject: clientCertificate.subject,
      issuer: clientCertificate.issuer,
      fingerprint_sha256: clientCertificate.fingerprint,
      expires_at: formatInstant(clientCertificate.expiresAt),
      warning: clientCertificate.warning,
    },
    oauth2: webhook.oauth2 && {
      token_url: webhook.oauth2.tokenUrl,
      client_id: webhook.oauth2.clientId,
      scope: webhook.oauth2.scope,
      audience: webhook.oauth2.audience,
      authentication: webhook.oauth2.authentication,
    },
  };
}
