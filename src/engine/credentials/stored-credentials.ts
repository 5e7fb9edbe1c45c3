import { createHash } from "node:crypto";
import type { OAuth2Client, Webhook } from "../../domain/webhook.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { SecretKind, StoredSecret } from "../../ports/store/webhooks.ts";
import type { ClientCertificate, Shortage } from "../../ports/transport.ts";

/** An access token, or why there is none: one sentence without secrets that says what to fix. */
export type AccessToken =
  | { readonly kind: "token"; readonly accessToken: string }
  | { readonly kind: "failed"; readonly detail: string; readonly shortage?: Shortage };

/** The access tokens of one webhook. Returns a valid token synchronously, so that an attempt does not wait. */
export interface AccessTokens {
  token(): AccessToken | Promise<AccessToken>;
  /**
   * The receiver responded to this token with 401. True if the delivery may be sent again at once with a new token:
   * once per delivery (EDS-9.2.3-3).
   */
  rejected(use: { readonly accessToken: string; readonly deliveryId: string }): boolean;
}

/** An OAuth 2.0 client with its secret; kept in memory only. */
export interface OAuth2Credentials extends OAuth2Client {
  readonly clientSecret: string;
}

/**
 * The credentials that a webhook sends in addition to signatures: tokens, credential headers, a client certificate.
 */
export class StoredCredentials {
  readonly #webhook: Webhook;
  readonly #secrets: readonly StoredSecret[];
  readonly #secretBox: SecretBox;

  constructor(webhook: Webhook, secrets: readonly StoredSecret[], secretBox: SecretBox) {
    this.#webhook = webhook;
    this.#secrets = secrets;
    this.#secretBox = secretBox;
  }

  /** Flat name-value list of the headers that are the same in every attempt. */
  headers(): readonly string[] {
    const headers: string[] = [];
    const token = this.#open("bearer");
    if (token !== null && this.#webhook.bearerTokenIn === "header")
      headers.push("Authorization", `Bearer ${token}`);
    // CEW-3.2-3: a URL that contains a token must not be cached.
    if (token !== null && this.#webhook.bearerTokenIn === "query") headers.push("Cache-Control", "no-store");
    headers.push(...Object.entries(this.#credentialHeaders()).flat());
    for (const [name, value] of Object.entries(this.#webhook.headers)) headers.push(name, value);
    return headers;
  }

  /** Lowercase names of the headers whose values must be masked. */
  headerNames(): readonly string[] {
    return ["authorization", ...Object.keys(this.#credentialHeaders()).map((name) => name.toLowerCase())];
  }

  /** Secrets to mask in everything that a receiver sends back. */
  shownSecrets(): readonly string[] {
    const token = this.#open("bearer");
    const values = Object.values(this.#credentialHeaders());
    // The receiver may repeat only the last part of "Bearer abc" or "ApiKey abc".
    const parts = values.flatMap((value) => [value, value.slice(value.lastIndexOf(" ") + 1)]);
    return token === null ? parts : [token, ...parts];
  }

  /** Path and query; the token comes first, and the URL's own parameters are unchanged (CEW-3.2-2). */
  pathOf(url: URL): string {
    const token = this.#webhook.bearerTokenIn === "query" ? this.#open("bearer") : null;
    if (token === null) return url.pathname + url.search;
    const rest = url.search === "" ? "" : `&${url.search.slice(1)}`;
    return `${url.pathname}?access_token=${encodeURIComponent(token)}${rest}`;
  }

  clientCertificate(): ClientCertificate | null {
    const text = this.#open("client_certificate");
    if (text === null) return null;
    const { certificatePem, privateKeyPem } = JSON.parse(text) as Omit<ClientCertificate, "id">;
    const version = createHash("sha256").update(text).digest("base64url").slice(0, 16);
    return { id: `${this.#webhook.id}:${version}`, certificatePem, privateKeyPem };
  }

  oauth2(): OAuth2Credentials | null {
    const { oauth2 } = this.#webhook;
    const clientSecret = this.#open("oauth2_client_secret");
    return oauth2 === null || clientSecret === null ? null : { ...oauth2, clientSecret };
  }

  #credentialHeaders(): Readonly<Record<string, string>> {
    return JSON.parse(this.#open("credential_headers") ?? "{}") as Record<string, string>;
  }

  #open(kind: SecretKind): string | null {
    const secret = this.#secrets.find((candidate) => candidate.kind === kind);
    if (secret === undefined) return null;
    return this.#secretBox.open({ ciphertext: secret.ciphertext, context: this.#webhook.id });
  }
}
