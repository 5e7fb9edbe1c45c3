/** A requirement that tests prove only in part. */
export interface PartOfRow {
  readonly ids: readonly string[];
  /** What is implemented, and what is missing. Markdown; links are relative to docs/. */
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
      "history is deleted from the database after 90 days and is not archived first. To keep it longer, export it or raise `POSTHORN_RETENTION_HISTORY_DAYS`.",
  },
  {
    ids: ["WDS-166"],
    missing:
      "a tenant's limit applies to all of its webhooks and all workers. No limit applies unless one is set, so the document's 1,000 a minute is a value to set, not a default.",
  },
  {
    ids: ["WDS-172"],
    missing:
      "an event published without a key uses its id as the unique key. The id is a UUID of version 7, not 4, so that ids sort by time.",
  },
  {
    ids: ["WDS-225"],
    missing:
      "a worker has 100 active requests; requests that have waited for a second count in another limit ([decision](decisions/request-age.md)). The default is five for each webhook. Hosts have no default limit, because webhooks of several tenants often share a host: `POSTHORN_HOST_CONCURRENCY` sets it.",
  },
  {
    ids: ["WDS-127"],
    missing:
      "every such failure is retried; the reason distinguishes two of the document's four kinds, `retryable_network_dns_failure` and `retryable_network_connection_failed`.",
  },
  {
    ids: ["WDS-231"],
    missing:
      "circuits that are not closed, up to 1,000, have the value 1 for their state; closed ones have no sample, so that the number of series does not grow with that of webhooks.",
  },
  {
    ids: ["WDS-128"],
    missing:
      "there are exactly three attempts, with the reason `ssl_error`; the last one is `permanent_ssl_error_retry_limit`, because all final reasons begin with `permanent_`.",
  },
  {
    ids: ["WDS-126"],
    missing:
      "the number of attempts is checked first among the reasons to stop retrying. A last attempt that was permanently refused keeps the reason of its refusal, such as `permanent_client_error_404`, which says what to fix.",
  },
];
