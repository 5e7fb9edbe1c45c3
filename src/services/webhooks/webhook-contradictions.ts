import type { Profile } from "../../core/profile.ts";
import { findProfile } from "../../core/profiles/index.ts";
import { hasRecords } from "../../core/verification/dns-record.ts";
import type { Webhook } from "../../core/webhook.ts";
import type { ProblemList } from "../problem-list.ts";
import type { HeldCredentials } from "./webhook-credentials.ts";

interface Context {
  /** The credentials after the change. */
  readonly credentials: HeldCredentials;
  readonly problems: ProblemList;
}

/**
 * Reports fields that are valid individually but cannot be combined. Checks the merged webhook, so that the order of
 * changes does not matter.
 */
export function reportContradictions(webhook: Webhook, context: Context): void {
  const url = URL.parse(webhook.url);
  // An invalid URL or profile was already reported; what depends on it cannot be checked.
  if (url !== null) reportUrl(webhook, url, context);
  reportAuthorization(webhook, context);
  reportHeaders(webhook, context);
  const profile = findProfile(webhook.profile);
  if (profile !== undefined) reportProfile(webhook, profile, context);
}

function reportUrl(webhook: Webhook, url: URL, { credentials, problems }: Context): void {
  if (url.protocol === "http:") {
    if (webhook.http2) problems.contradiction(["http2", "url"], "HTTP/2 requires an https URL");
    if (credentials.clientCertificate) {
      problems.contradiction(["client_certificate", "url"], "a client certificate requires an https URL");
    }
  }
  if (webhook.bearerTokenIn === "query" && url.searchParams.has("access_token")) {
    const message = "the URL already has an access_token, so the token cannot be added";
    problems.contradiction(["bearer_token_in", "url"], message);
  }
  if (webhook.verification.method === "dns" && !hasRecords(url.hostname)) {
    problems.contradiction(["verification", "url"], "an IP address has no DNS record; use a host name");
  }
}

/** The three sources of the `Authorization` header. */
function reportAuthorization({ oauth2, bearerTokenIn }: Webhook, { credentials, problems }: Context): void {
  const isOwnHeader = credentials.credentialHeaderNames.some(
    (name) => name.toLowerCase() === "authorization",
  );
  if (credentials.bearerToken && oauth2 !== null) {
    problems.contradiction(
      ["bearer_token", "oauth2"],
      "bearer_token and oauth2 exclude each other; null removes one",
    );
  }
  if (isOwnHeader && oauth2 !== null) {
    const message = "oauth2 and credential_headers both set Authorization; keep one";
    problems.contradiction(["credential_headers", "oauth2"], message);
  }
  if (isOwnHeader && credentials.bearerToken && bearerTokenIn === "header") {
    const message = "bearer_token and credential_headers both set Authorization; keep one";
    problems.contradiction(["credential_headers", "bearer_token"], message);
  }
  if (bearerTokenIn === "query" && !credentials.bearerToken) {
    problems.contradiction(["bearer_token_in", "bearer_token"], "query requires a bearer_token");
  }
}

function reportHeaders({ headers }: Webhook, { credentials, problems }: Context): void {
  const secret = new Set(credentials.credentialHeaderNames.map((name) => name.toLowerCase()));
  for (const name of Object.keys(headers)) {
    if (!secret.has(name.toLowerCase())) continue;
    problems.contradiction(["headers", "credential_headers"], `both set ${printable(name)}; keep one`);
  }
}

function reportProfile(webhook: Webhook, profile: Profile, { credentials, problems }: Context): void {
  const { payloadFormats, signatureSchemesAllowed, registration, migrationHeaders } = profile;
  if (webhook.payloadFormat !== null && !payloadFormats.includes(webhook.payloadFormat)) {
    const message = `the profile ${profile.name} supports the formats ${payloadFormats.join(", ")}`;
    problems.contradiction(["payload_format", "profile"], message);
  }
  if (webhook.schemes?.some((scheme) => !signatureSchemesAllowed.includes(scheme)) === true) {
    const message = `the profile ${profile.name} supports the signatures ${signatureSchemesAllowed.join(", ")}`;
    problems.contradiction(["signing.schemes", "profile"], message);
  }
  if (registration.bearerTokenRequired && !credentials.bearerToken && webhook.oauth2 === null) {
    const message = `the profile ${profile.name} requires a bearer_token, or oauth2 to obtain one`;
    problems.contradiction(["bearer_token", "profile"], message);
  }
  if (webhook.migrationHeaders && migrationHeaders.length === 0) {
    const message = `the profile ${profile.name} has no headers for migrations`;
    problems.contradiction(["migration_headers", "profile"], message);
  }
  if (webhook.agreements.followPermanentRedirect && !registration.permanentRedirectAllowed) {
    const message = `the profile ${profile.name} does not follow redirects`;
    problems.contradiction(["agreements.follow_permanent_redirect", "profile"], message);
  }
}

/** Header names were validated earlier; a refused name must still not break a log line. */
function printable(name: string): string {
  return name.slice(0, 128).replaceAll(/[^\x21-\x7e]/g, "?");
}
