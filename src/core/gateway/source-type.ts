/** A way in which messages of a source can be verified, as `GET /v1/source-types` tells it to forms and people. */
export interface SourceType {
  /** What stands in `verification.type`. */
  readonly type: string;
  readonly title: string;
  readonly fields: readonly SourceTypeField[];
  /** Null for what is no provider's, such as `hmac`. */
  readonly provider: SourceProvider | null;
}

export interface SourceTypeField {
  readonly name: string;
  readonly kind: "text" | "texts" | "number" | "choice" | "verifiers";
  readonly isRequired: boolean;
  /** Sealed where it is stored and masked where it is shown. */
  readonly isSecret: boolean;
  /** Empty unless `kind` is `choice`. */
  readonly choices: readonly string[];
  readonly description: string;
}

export interface SourceProvider {
  readonly documentation: string;
  /** What to do at the provider. `{url}` stands for the address of the source, `{secret}` for its secret. */
  readonly steps: readonly string[];
  readonly remarks: readonly string[];
  readonly signature: string;
  readonly signed: string;
  readonly replayProtection: string;
  /** Handed on to destinations. */
  readonly forwardHeaders: readonly string[];
  /** How the provider checks the address before it uses it. */
  readonly addressCheck: "get" | "head" | "post" | null;
}
