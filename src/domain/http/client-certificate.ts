/**
 * A client certificate of mutual TLS, as seen by the server or proxy that terminated the connection. SHA-256 in
 * lower-case hexadecimal. Null for unknown values.
 */
export interface ClientCertificateSeen {
  /** SHA-256 of the DER-encoded certificate. */
  readonly certificateSha256: string;
  /** SHA-256 of its public key (SubjectPublicKeyInfo in DER). */
  readonly publicKeySha256: string | null;
  /** Unix seconds. */
  readonly validSeconds: { readonly from: number; readonly to: number } | null;
}
