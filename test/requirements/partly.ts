/** A row of which tests prove a part. */
export interface PartOfRow {
  readonly ids: readonly string[];
  /** What holds, and what is missing. Markdown; links are relative to docs/. */
  readonly missing: string;
}

export const partly: readonly PartOfRow[] = [
  {
    ids: ["WDS-71"],
    missing:
      "an attempt is `success`, `failed` or `exhausted`; `pending` and `circuit_blocked` are statuses of a delivery, because an attempt is recorded when its request has ended.",
  },
  {
    ids: ["WDS-224"],
    missing:
      "history leaves the database after 90 days; there is no archive to which it is moved first (C-44), so whoever needs it longer exports it or raises `POSTHORN_RETENTION_HISTORY_DAYS`.",
  },
  {
    ids: ["WDS-127"],
    missing:
      "every such failure is retried; of the document's four kinds the reason tells two apart, `retryable_network_dns_failure` and `retryable_network_connection_failed`.",
  },
  {
    ids: ["WDS-231"],
    missing:
      "circuits that are not closed, up to 1,000, have the value 1 for their state; closed ones have no sample, so that the number of series does not grow with that of webhooks.",
  },
  {
    ids: ["WDS-128"],
    missing:
      "three attempts and no more, with the reason `ssl_error`; the last one is `permanent_ssl_error_retry_limit`, because all final reasons begin with `permanent_`.",
  },
];
