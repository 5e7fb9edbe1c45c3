import type { Clock } from "../../ports/clock.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import type { SecretKind, StoredSecret } from "../../ports/store/webhooks.ts";
import type { ClientCertificateView, WebhookInput } from "../services.ts";
import { type CertificateAndKey, certificateView } from "./client-certificate.ts";

export interface WebhookCredentialsOptions {
  readonly secretBox: SecretBox;
  readonly clock: Clock;
}

/** Which credentials a webhook has, to check combinations. Contains no secrets. */
export interface HeldCredentials {
  readonly bearerToken: boolean;
  readonly clientCertificate: boolean;
  readonly credentialHeaderNames: readonly string[];
}

/** The credentials of a new webhook. */
export const noCredentials: HeldCredentials = {
  bearerToken: false,
  clientCertificate: false,
  credentialHeaderNames: [],
};

type CredentialKind = Exclude<SecretKind, "symmetric" | "ed25519">;

/**
 * Credentials that a webhook sends besides signatures: bearer token, OAuth 2.0 client secret, secret headers, client
 * certificate. They are write-only: plain texts exist only during a call, and views contain only names and public
 * facts. An update replaces them without an overlap, because a receiver accepts only one.
 */
export class WebhookCredentials {
  readonly #options: WebhookCredentialsOptions;
  /** Caches decryption and certificate parsing, which would otherwise run for each row of a listing. */
  readonly #names = new WeakMap<StoredSecret, readonly string[]>();
  readonly #certificates = new WeakMap<StoredSecret, string>();

  constructor(options: WebhookCredentialsOptions) {
    this.#options = options;
  }

  /** The secrets after a validated input: absent keeps, null removes. */
  replaced(
    webhookId: string,
    secrets: readonly StoredSecret[],
    input: WebhookInput,
  ): readonly StoredSecret[] {
    const { bearerToken, credentialHeaders, clientCertificate, oauth2 } = input;
    const texts: readonly (readonly [CredentialKind, string | null | undefined])[] = [
      ["bearer", bearerToken],
      ["oauth2_client_secret", oauth2 === null ? null : oauth2?.clientSecret],
      ["credential_headers", headersText(credentialHeaders)],
      ["client_certificate", certificateText(clientCertificate)],
    ];
    let replaced = secrets;
    for (const [kind, text] of texts) {
      if (text === undefined) continue;
      const others = replaced.filter((secret) => secret.kind !== kind);
      replaced = text === null ? others : [...others, this.#seal(webhookId, kind, text)];
    }
    return replaced;
  }

  held(webhookId: string, secrets: readonly StoredSecret[]): HeldCredentials {
    return {
      bearerToken: find(secrets, "bearer") !== undefined,
      clientCertificate: find(secrets, "client_certificate") !== undefined,
      credentialHeaderNames: this.#headerNames(webhookId, secrets),
    };
  }

  /** For views. */
  certificateView(webhookId: string, secrets: readonly StoredSecret[]): ClientCertificateView | null {
    const secret = find(secrets, "client_certificate");
    if (secret === undefined) return null;
    let pem = this.#certificates.get(secret);
    if (pem === undefined) {
      pem = (JSON.parse(this.#open(webhookId, secret)) as CertificateAndKey).certificatePem;
      this.#certificates.set(secret, pem);
    }
    return certificateView(pem, this.#options.clock.now());
  }

  #headerNames(webhookId: string, secrets: readonly StoredSecret[]): readonly string[] {
    const secret = find(secrets, "credential_headers");
    if (secret === undefined) return [];
    let names = this.#names.get(secret);
    if (names === undefined) {
      names = Object.keys(JSON.parse(this.#open(webhookId, secret)) as object);
      this.#names.set(secret, names);
    }
    return names;
  }

  #open(webhookId: string, secret: StoredSecret): string {
    return this.#options.secretBox.open({ ciphertext: secret.ciphertext, context: webhookId });
  }

  #seal(webhookId: string, kind: CredentialKind, text: string): StoredSecret {
    const { secretBox, clock } = this.#options;
    const ciphertext = secretBox.seal(text, webhookId);
    // Credentials may be reused and may be weak. Their digest is bound to the webhook, so that it cannot be used to
    // find equal ones.
    const digest = secretBox.digest(`${kind} ${webhookId} ${text}`);
    return { kind, ciphertext, digest, createdAt: clock.now(), expiresAt: null };
  }
}

function find(secrets: readonly StoredSecret[], kind: CredentialKind): StoredSecret | undefined {
  return secrets.find((secret) => secret.kind === kind);
}

function headersText(headers: WebhookInput["credentialHeaders"]): string | null | undefined {
  if (headers === undefined || headers === null) return headers;
  return Object.keys(headers).length === 0 ? null : JSON.stringify(headers);
}

function certificateText(given: WebhookInput["clientCertificate"]): string | null | undefined {
  if (given === undefined || given === null) return given;
  const { certificatePem, privateKeyPem } = given;
  return JSON.stringify({ certificatePem, privateKeyPem });
}
