import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { ClientCertificateInput, ClientCertificateView } from "../services.ts";
import type { ProblemList } from "../problem-list.ts";

/** The sealed content: the given texts, after validation that they work together. */
export interface CertificateAndKey {
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
 * Reads a client certificate for mutual TLS: it must be readable, valid, and match its key. Problems are reported under
 * their field, in words that reveal nothing of the key.
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
 * The TLS library has additional requirements, such as the length of a key, which should fail here rather than at the
 * first delivery.
 */
function isUsable(certificatePem: string, key: KeyObject): boolean {
  try {
    createSecureContext({ cert: certificatePem, key: key.export({ type: "pkcs8", format: "pem" }) });
    return true;
  } catch {
    return false;
  }
}

/** The visible parts of a stored certificate. `now` determines the warning. */
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

/** Node separates the parts of a name by line breaks. */
function oneLine(name: string | undefined): string {
  return (name ?? "").split("\n").join(", ");
}
