/** A row of which tests prove a part. */
export interface PartOfRow {
  readonly ids: readonly string[];
  /** What holds, and what is missing. Markdown; links are relative to docs/. */
  readonly missing: string;
}

export const partly: readonly PartOfRow[] = [
  {
    ids: ["WDS-127"],
    missing:
      "every such failure is retried; of the document's four kinds the reason tells two apart, `retryable_network_dns_failure` and `retryable_network_connection_failed`.",
  },
  {
    ids: ["WDS-128"],
    missing:
      "three attempts and no more, with the reason `ssl_error`; the last one is `permanent_ssl_error_retry_limit`, because all final reasons begin with `permanent_`.",
  },
];
