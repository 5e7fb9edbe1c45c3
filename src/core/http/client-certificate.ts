/** Of mutual TLS, as whoever ended the connection saw it. SHA-256 in hexadecimal, lower case. Null for what is not known. */
export interface ClientCertificateSeen {
  /** Of the certificate, DER. */
  readonly certificateSha256: string;
  /** Of its public key: SubjectPublicKeyInfo, DER. */
  readonly publicKeySha256: string | null;
  /** Unix seconds. */
  readonly validSeconds: { readonly from: number; readonly to: number } | null;
}
