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
    ids: ["WDS-166"],
    missing:
      "a limit of a tenant holds over all of its webhooks and all workers; no such limit is in force unless one is set, so the document's 1,000 a minute is a value to set and not a default.",
  },
  {
    ids: ["WDS-172"],
    missing:
      "an event without a key of its publisher has a unique one, its id; that is a UUID of version 7 and not 4, so that ids sort by time.",
  },
  {
    ids: ["WDS-225"],
    missing:
      "a worker has 100 active requests; those that have waited for a second count in another limit ([decision](decisions/request-age.md)). Five for each webhook is a default, five for each host is not, because webhooks of several tenants often share a host: `POSTHORN_HOST_CONCURRENCY` sets it.",
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
  {
    ids: ["WDS-126"],
    missing:
      "of the reasons to give up a retry, the number of attempts is the first that is checked. A last attempt that was refused for good keeps the reason of its refusal, such as `permanent_client_error_404`, which says what to fix.",
  },
];
