import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { SecretKind, StoredSecret } from "../../ports/store/webhooks.ts";
import type { ProblemList } from "../input.ts";
import type {
  ClientCertificateInput,
  ClientCertificateView,
  FeatureContext,
  WebhookInput,
} from "../services.ts";

/** The content that is sealed: the certificate and the key as given, after validating that they match. */
interface CertificateAndKey {
  readonly certificatePem: string;
  readonly privateKeyPem: string;
}

const chainLengthMax = 10;
/**
 * Every handshake signs on the main thread: 2 ms with 4,096 bits, 27 ms with 8,192, and eight times that with 16,384.
 */
const rsaBitsMax = 4_096;
const warningMs = 14 * 86_400_000;

/**
 * Reads a client certificate for mutual TLS. It must be readable and valid, and must match its key. Problems are
 * reported under their field, in messages that reveal nothing about the key.
 */
export function readClientCertificate(
  value: ClientCertificateInput,
  now: number,
  problems: ProblemList,
): CertificateAndKey | null {
  const { certificatePem, privateKeyPem } = value;
  const certificate = readCertificate(certificatePem, now, problems);
  const key = readKey(privateKeyPem, problems);
  if (certificate === null || key === null) return null;
  if (!certificate.checkPrivateKey(key) || !isUsable(certificatePem, key)) {
    problems.add({ field: keyField, message: "does not belong to the certificate, or is too weak for TLS" });
    return null;
  }
  return { certificatePem, privateKeyPem };
}

const certificateField = "client_certificate.certificate_pem";
const keyField = "client_certificate.private_key_pem";

function readCertificate(value: string, now: number, problems: ProblemList): X509Certificate | null {
  const problem = (message: string): null => {
    problems.add({ field: certificateField, message });
    return null;
  };
  const own = parseChain(value)?.[0];
  if (own === undefined) return problem("must be a certificate in PEM, with its chain");
  if (own.validToDate.getTime() <= now) return problem("has expired");
  if (own.validFromDate.getTime() > now) return problem("is not valid yet");
  return own;
}

/** The webhook's certificate and its chain; null if one of them cannot be read. */
function parseChain(text: string): readonly X509Certificate[] | null {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0 || blocks.length > chainLengthMax) return null;
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    return null;
  }
}

function readKey(value: string, problems: ProblemList): KeyObject | null {
  try {
    const key = createPrivateKey(value);
    if ((key.asymmetricKeyDetails?.modulusLength ?? 0) > rsaBitsMax) {
      problems.add({ field: keyField, message: `must have at most ${rsaBitsMax} bits` });
      return null;
    }
    return key;
  } catch {
    // The library's message may quote the key.
  }
  problems.add({ field: keyField, message: "must be a private key in PEM without a passphrase" });
  return null;
}

/**
 * Whether the TLS library accepts the certificate and its key. The library has additional requirements, such as a
 * minimum key length. Such problems should be reported here rather than at the first delivery.
 */
function isUsable(certificatePem: string, key: KeyObject): boolean {
  try {
    createSecureContext({ cert: certificatePem, key: key.export({ type: "pkcs8", format: "pem" }) });
    return true;
  } catch {
    return false;
  }
}

/** The visible parts of a stored certificate. `now` decides whether it gets an expiry warning. */
export function certificateView(certificatePem: string, now: number): ClientCertificateView {
  const certificate = new X509Certificate(certificatePem);
  const expiresAt = certificate.validToDate.getTime();
  return {
    subject: oneLine(certificate.subject),
    issuer: oneLine(certificate.issuer),
    fingerprint: certificate.fingerprint256,
    expiresAt,
    warning: warningOf(expiresAt, now),
  };
}

function warningOf(expiresAt: number, now: number): string | null {
  if (expiresAt <= now) return "the certificate has expired";
  return expiresAt - now <= warningMs ? "the certificate expires within two weeks" : null;
}

/** Joins the parts of a distinguished name, which Node separates by line breaks, on one line. */
function oneLine(name: string | undefined): string {
  return (name ?? "").split("\n").join(", ");
}

/** Which credentials a webhook has, for checking combinations. Contains no secrets. */
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
 * Credentials that a webhook sends in addition to signatures: bearer token, OAuth 2.0 client secret, secret headers,
 * client certificate. They are write-only: plaintext exists only during a call, and views contain only names and public
 * facts. An update replaces them without an overlap, because a receiver accepts only one value.
 */
export class WebhookCredentials {
  readonly #context: FeatureContext;
  /** Caches decryption and certificate parsing, which would otherwise run for each row of a listing. */
  readonly #names = new WeakMap<StoredSecret, readonly string[]>();
  readonly #certificates = new WeakMap<StoredSecret, string>();

  constructor(context: FeatureContext) {
    this.#context = context;
  }

  /**
   * Returns the secrets after a validated input is applied. A secret whose field is absent is kept; null removes it.
   */
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

  /** The visible parts of the webhook's certificate; null if it has none. */
  certificateView(webhookId: string, secrets: readonly StoredSecret[]): ClientCertificateView | null {
    const secret = find(secrets, "client_certificate");
    if (secret === undefined) return null;
    let pem = this.#certificates.get(secret);
    if (pem === undefined) {
      pem = (JSON.parse(this.#open(webhookId, secret)) as CertificateAndKey).certificatePem;
      this.#certificates.set(secret, pem);
    }
    return certificateView(pem, this.#context.clock.now());
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
    return this.#context.secretBox.open(secret.ciphertext, webhookId);
  }

  #seal(webhookId: string, kind: CredentialKind, text: string): StoredSecret {
    const { secretBox, clock } = this.#context;
    const ciphertext = secretBox.seal(text, webhookId);
    // Credentials may be reused and may be weak. Their digest is bound to the webhook, so that equal credentials cannot
    // be found by comparing digests.
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
