import { judgeUrl, type UrlRules } from "../../core/egress/url-policy.ts";
import { judgeCredentialHeaders } from "../../core/http/request-headers.ts";
import type { OAuth2Client } from "../../core/webhook.ts";
import type { WebhookInput } from "../services.ts";
import { readClientCertificate } from "./client-certificate.ts";
import type { ProblemList } from "../problem-list.ts";
import type { HeldCredentials } from "./webhook-credentials.ts";

export interface CredentialsContext {
  readonly urlRules: UrlRules;
  readonly now: number;
  readonly problems: ProblemList;
  /** The credentials before the change. */
  readonly held: HeldCredentials;
}

/** Validates the credentials and returns which ones there will be. */
export function checkCredentials(input: WebhookInput, context: CredentialsContext): HeldCredentials {
  const { held, problems } = context;
  const { bearerToken: token, clientCertificate, credentialHeaders } = input;
  if (clientCertificate !== undefined && clientCertificate !== null) {
    readClientCertificate(clientCertificate, context.now, context.problems);
  }
  return {
    bearerToken: token === undefined ? held.bearerToken : token !== null,
    clientCertificate: clientCertificate === undefined ? held.clientCertificate : clientCertificate !== null,
    credentialHeaderNames:
      credentialHeaders === undefined
        ? held.credentialHeaderNames
        : readCredentialHeaders(credentialHeaders, problems),
  };
}

/**
 * Credentials belong to the origin that they were given for. Editors of a webhook never see them, and must not be able
 * to send them to their own server. For another origin, each must be given again or removed with null. A client
 * certificate is kept, because its private key is not sent.
 */
export function requireCredentialsAnew(
  before: string,
  after: string,
  { input, oauth2, held, problems }: MovedCredentials,
): void {
  const origin = URL.parse(before)?.origin;
  if (origin === undefined || origin === (URL.parse(after)?.origin ?? origin)) return;
  const kept = [
    { field: "bearer_token", isKept: held.bearerToken && input.bearerToken === undefined },
    {
      field: "credential_headers",
      isKept: held.credentialHeaderNames.length > 0 && input.credentialHeaders === undefined,
    },
    { field: "oauth2.client_secret", isKept: oauth2 !== null && input.oauth2?.clientSecret === undefined },
  ];
  for (const { field, isKept } of kept) {
    if (!isKept) continue;
    const parent = field.split(".")[0] ?? field;
    const message = `must be given again for a URL at another origin, or ${parent} removed with null`;
    problems.add({ field, message });
  }
}

interface MovedCredentials {
  readonly input: WebhookInput;
  /** The OAuth 2.0 client after the change. */
  readonly oauth2: OAuth2Client | null;
  /** The credentials before the change. */
  readonly held: HeldCredentials;
  readonly problems: ProblemList;
}

function readCredentialHeaders(
  value: NonNullable<WebhookInput["credentialHeaders"]> | null,
  problems: ProblemList,
): readonly string[] {
  if (value === null) return [];
  for (const { header, detail } of judgeCredentialHeaders(value)) {
    const field = header === null ? "credential_headers" : `credential_headers.${header}`;
    problems.add({ field, message: detail });
  }
  return Object.keys(value);
}

/**
 * Merges the OAuth 2.0 client. Its secret is required for the first client and for every new token URL: otherwise an
 * editor could have a secret that they never saw sent to their own server.
 */
export function mergeOAuth2(
  base: OAuth2Client | null,
  change: WebhookInput["oauth2"],
  context: CredentialsContext,
): OAuth2Client | null {
  const { problems } = context;
  if (change === undefined) return base;
  if (change === null) return null;
  const { clientSecret, ...rest } = change;
  const merged = { ...blankClient, ...base, ...rest };
  if (rest.tokenUrl !== undefined) merged.tokenUrl = readTokenUrl(rest.tokenUrl, context);
  else if (merged.tokenUrl === "") required("token_url", problems);
  if (merged.clientId === "") required("client_id", problems);
  if (clientSecret === undefined && merged.tokenUrl !== base?.tokenUrl) {
    const message = "is required, even if only token_url changes";
    problems.add({ field: "oauth2.client_secret", message });
  }
  return merged;
}

const blankClient: OAuth2Client = {
  tokenUrl: "",
  clientId: "",
  scope: null,
  audience: null,
  authentication: "basic",
};

function required(name: string, problems: ProblemList): void {
  problems.add({ field: `oauth2.${name}`, message: "is required" });
}

function readTokenUrl(value: string, { urlRules, problems }: CredentialsContext): string {
  const judgement = judgeUrl(value, urlRules);
  if (judgement.kind === "ok") return judgement.url;
  problems.add({ field: "oauth2.token_url", message: judgement.detail });
  return "";
}
