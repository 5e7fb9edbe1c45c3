import { judgeUrl, type UrlRules } from "../../core/egress/url-policy.ts";
import { judgeCredentialHeaders } from "../../core/request-headers.ts";
import type { OAuth2Client, Webhook } from "../../core/webhook.ts";
import type { WebhookInput } from "../services.ts";
import { readClientCertificate } from "./client-certificate.ts";
import { isRecord, type ProblemList } from "./problem-list.ts";
import type { HeldCredentials } from "./webhook-credentials.ts";

export interface CredentialsContext {
  readonly urlRules: UrlRules;
  readonly now: number;
  readonly problems: ProblemList;
  /** What the webhook has before the change. */
  readonly held: HeldCredentials;
}

/** RFC 6750 token; anything else would not survive the header it travels in. */
const bearerToken = /^[A-Za-z0-9\-._~+/]{1,2000}={0,2}$/;
const clientIdLengthMax = 512;
const clientSecretLengthMax = 2_048;
const scopeLengthMax = 1_024;

/** Checks what is kept sealed beside the webhook, and says which credentials there will be. */
export function checkCredentials(input: WebhookInput, context: CredentialsContext): HeldCredentials {
  const { held, problems } = context;
  const { bearerToken: token, clientCertificate, credentialHeaders } = input;
  checkBearerToken(token, problems);
  if (clientCertificate !== undefined && clientCertificate !== null) {
    readClientCertificate(clientCertificate, context);
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
 * Credentials belong to the origin that they were given for. Who may edit a webhook was never shown them, and must not be able
 * to have them sent to a place of theirs: for another origin each is given again, or removed with null. A client certificate
 * stays, because its private key is not sent.
 */
export function requireCredentialsAnew(
  urls: { readonly before: string; readonly after: string },
  { input, oauth2, held, problems }: MovedCredentials,
): void {
  const origin = URL.parse(urls.before)?.origin;
  if (origin === undefined || origin === (URL.parse(urls.after)?.origin ?? origin)) return;
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
    const message = `must be given again with a URL at another origin, or ${parent} removed with null`;
    problems.add({ field, message });
  }
}

interface MovedCredentials {
  readonly input: WebhookInput;
  /** The OAuth 2.0 client after the change. */
  readonly oauth2: OAuth2Client | null;
  /** What the webhook has before the change. */
  readonly held: HeldCredentials;
  readonly problems: ProblemList;
}

function checkBearerToken(value: unknown, problems: ProblemList): void {
  if (value === undefined || value === null || (typeof value === "string" && bearerToken.test(value))) return;
  const message = "must be a token of letters, digits and -._~+/ (2000 at most)";
  problems.add({ field: "bearer_token", message });
}

function readCredentialHeaders(value: unknown, problems: ProblemList): readonly string[] {
  if (value === null) return [];
  if (!isRecord(value)) {
    problems.add({ field: "credential_headers", message: "must be an object of names and values, or null" });
    return [];
  }
  for (const { header, detail } of judgeCredentialHeaders(value)) {
    const field = header === null ? "credential_headers" : `credential_headers.${header}`;
    problems.add({ field, message: detail });
  }
  return Object.keys(value);
}

/** `null` is the default: the `Authorization` header (CEW-3.2-5). */
export function mergeBearerTokenIn(
  base: Webhook["bearerTokenIn"],
  { change, problems }: { readonly change: unknown; readonly problems: ProblemList },
): Webhook["bearerTokenIn"] {
  if (change === undefined) return base;
  if (change === null) return "header";
  return problems.oneOf("bearer_token_in", { value: change, allowed: ["header", "query"] }) ?? base;
}

/**
 * Merges the OAuth 2.0 client. Its secret is needed with the first one and again with every new token URL: otherwise
 * whoever may edit a webhook could have a secret sent to a place of theirs that they were never shown.
 */
export function mergeOAuth2(
  base: OAuth2Client | null,
  { change, context }: { readonly change: unknown; readonly context: CredentialsContext },
): OAuth2Client | null {
  const { problems } = context;
  if (change === undefined) return base;
  if (change === null) return null;
  if (!isRecord(change)) {
    problems.add({ field: "oauth2", message: "must be an object, or null" });
    return base;
  }
  const merged = {
    tokenUrl:
      change["tokenUrl"] === undefined ? (base?.tokenUrl ?? "") : readTokenUrl(change["tokenUrl"], context),
    clientId: optional("clientId", base?.clientId ?? null, { change, problems }),
    scope: optional("scope", base?.scope ?? null, { change, problems }),
    audience: optional("audience", base?.audience ?? null, { change, problems }),
    authentication: readAuthentication(base, { change, problems }),
  };
  if (merged.tokenUrl === "" && change["tokenUrl"] === undefined) required("token_url", problems);
  if (merged.clientId === null && change["clientId"] === undefined) required("client_id", problems);
  checkClientSecret(change["clientSecret"], { isNeeded: merged.tokenUrl !== base?.tokenUrl, problems });
  return { ...merged, clientId: merged.clientId ?? "" };
}

function required(name: string, problems: ProblemList): void {
  problems.add({ field: `oauth2.${name}`, message: "is required" });
}

function readTokenUrl(value: unknown, { urlRules, problems }: CredentialsContext): string {
  const judgement = judgeUrl(value, urlRules);
  if (judgement.kind === "ok") return judgement.url;
  problems.add({ field: "oauth2.token_url", message: judgement.detail });
  return "";
}

const textFields = {
  clientId: { path: "oauth2.client_id", lengthMin: 1, lengthMax: clientIdLengthMax },
  scope: { path: "oauth2.scope", lengthMin: 1, lengthMax: scopeLengthMax },
  audience: { path: "oauth2.audience", lengthMin: 1, lengthMax: scopeLengthMax },
} as const;

function optional(
  name: keyof typeof textFields,
  base: string | null,
  from: { readonly change: Readonly<Record<string, unknown>>; readonly problems: ProblemList },
): string | null {
  const value = from.change[name];
  if (value === undefined) return base;
  if (value === null && name !== "clientId") return null;
  const { path, ...bounds } = textFields[name];
  return from.problems.text(path, { value, ...bounds });
}

function readAuthentication(
  base: OAuth2Client | null,
  from: { readonly change: Readonly<Record<string, unknown>>; readonly problems: ProblemList },
): OAuth2Client["authentication"] {
  const value = from.change["authentication"];
  if (value === undefined) return base?.authentication ?? "basic";
  return from.problems.oneOf("oauth2.authentication", { value, allowed: ["basic", "body"] }) ?? "basic";
}

function checkClientSecret(
  value: unknown,
  more: { readonly isNeeded: boolean; readonly problems: ProblemList },
): void {
  const field = "oauth2.client_secret";
  if (value === undefined) {
    if (more.isNeeded) more.problems.add({ field, message: "is required, also when token_url changes" });
    return;
  }
  more.problems.text(field, { value, lengthMin: 1, lengthMax: clientSecretLengthMax });
}
