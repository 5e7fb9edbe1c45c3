/** A way to verify the messages of a source, as `GET /v1/source-types` describes it to forms and readers. */
export interface SourceType {
  /** The value of `verification.type`. */
  readonly type: string;
  readonly title: string;
  readonly fields: readonly SourceTypeField[];
  /** Null if it does not belong to a provider, such as `hmac`. */
  readonly provider: SourceProvider | null;
}

export interface SourceTypeField {
  readonly name: string;
  readonly kind: "text" | "texts" | "number" | "choice" | "verifiers";
  readonly isRequired: boolean;
  /** Encrypted when stored and masked when shown. */
  readonly isSecret: boolean;
  /** Empty unless `kind` is `choice`. */
  readonly choices: readonly string[];
  readonly description: string;
}

export interface SourceProvider {
  readonly documentation: string;
  /** What to do at the provider. `{url}` is a placeholder for the address of the source, `{secret}` for its secret. */
  readonly steps: readonly string[];
  readonly remarks: readonly string[];
  readonly signature: string;
  readonly signed: string;
  readonly replayProtection: string;
  /** Forwarded to destinations. */
  readonly forwardHeaders: readonly string[];
  /** How the provider checks the address before it uses it. */
  readonly addressCheck: "get" | "head" | "post" | null;
}
