import { apiPath } from "../../core/fields/field.ts";
import type { Fields } from "../../core/fields/field.ts";
import { webhookFields } from "../../core/fields/webhook.ts";
import type { WebhookRetryOverrides } from "../../core/webhook.ts";
import type { StoredHistoryEntry } from "../../ports/store/webhooks.ts";
import { formatInstant } from "./instant.ts";
import { retryConfigJson } from "./retry-config.ts";
import { snakeCase, snakeCaseJson } from "./snake-case.ts";

type Json = Record<string, unknown>;

export function timelineJson(entry: StoredHistoryEntry): Json {
  return {
    at: formatInstant(entry.at),
    kind: entry.kind,
    by: byJson(entry),
    reason: entry.reason,
    revision: entry.revision,
    changed: Object.keys(entry.changes).map(fieldName),
  };
}

export function revisionJson(entry: StoredHistoryEntry): Json {
  const changes = Object.entries(entry.changes).map(([name, change]) => {
    const shown = Object.entries(change).map(([when, value]) => [when, valueJson(name, value)]);
    return [fieldName(name), Object.fromEntries(shown) as Json];
  });
  return {
    revision: entry.revision,
    at: formatInstant(entry.at),
    by: byJson(entry),
    changes: Object.fromEntries(changes) as Json,
  };
}

function byJson({ by }: StoredHistoryEntry): Json | null {
  return by && { kind: by.kind, key_name: by.keyName, reference: by.reference };
}

/** The name of the field in the API. */
function fieldName(name: string): string {
  const field = (webhookFields as Fields)[name];
  return grouped[name] ?? (field === undefined ? snakeCase(name) : apiPath(name, field));
}

const grouped: Readonly<Record<string, string>> = {
  retry: "retry_config",
  circuitBreaker: "circuit_breaker_config",
  rateLimit: "rate_limit",
};

/** The value in API form. Names of headers and metadata belong to the owner and are not converted. */
function valueJson(name: string, value: unknown): unknown {
  if (name === "headers" || name === "metadata") return value;
  return name === "retry" ? retryConfigJson(value as WebhookRetryOverrides) : snakeCaseJson(value);
}
