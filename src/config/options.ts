import { delivery, security } from "./delivery-options.ts";
import { gateway, notification, portal } from "./feature-options.ts";
import { option, type Option, type OptionGroup } from "./option.ts";
import { server } from "./server-options.ts";
import { callsPerMinute, oneOf } from "./setting-kinds.ts";
import { retention, storage } from "./storage-options.ts";

const dayMs = 86_400_000;

const api = {
  apiKeyCallsPerMinute: option({
    env: "POSTHORN_API_KEY_CALLS_PER_MINUTE",
    group: "API",
    description:
      "Maximum number of calls per API key, not counting publish calls; 0 or `none` disables the limit. Further calls get a 429. Administrator keys are not limited. Each process counts separately.",
    kind: callsPerMinute,
    fallback: 1_000,
  }),
  apiTenantCallsPerMinute: option({
    env: "POSTHORN_API_TENANT_CALLS_PER_MINUTE",
    group: "API",
    description: "The same limit for all keys of a tenant combined.",
    kind: callsPerMinute,
    fallback: 5_000,
  }),
  apiKeyPublishesPerMinute: option({
    env: "POSTHORN_API_KEY_PUBLISHES_PER_MINUTE",
    group: "API",
    description:
      "Maximum number of publish calls per API key; 0 or `none` disables the limit. A batch of up to 1,000 events is one call.",
    kind: callsPerMinute,
    fallback: 60_000,
  }),
  apiTenantPublishesPerMinute: option({
    env: "POSTHORN_API_TENANT_PUBLISHES_PER_MINUTE",
    group: "API",
    description: "The same limit for all keys of a tenant combined.",
    kind: callsPerMinute,
    fallback: 120_000,
  }),
} as const;

const logging = {
  logLevel: option({
    env: "POSTHORN_LOG_LEVEL",
    group: "Logging",
    description: "Minimum level of log lines. `debug` also writes one line per API request.",
    kind: oneOf(["debug", "info", "warn", "error"]),
    fallback: "info" as const,
  }),
  logFormat: option({
    env: "POSTHORN_LOG_FORMAT",
    group: "Logging",
    description:
      "`text` is human-readable, `json` is machine-readable, `auto` selects text on a terminal and JSON otherwise.",
    kind: oneOf(["auto", "text", "json"]),
    fallback: "auto" as const,
  }),
} as const;

/** Every setting of Posthorn. */
export const options = {
  ...server,
  ...portal,
  ...storage,
  ...security,
  ...api,
  ...delivery,
  ...gateway,
  ...retention,
  ...notification,
  ...logging,
} as const;

/** Name of a setting in code. */
export type OptionName = keyof typeof options;
/** Effective settings, as declared by {@link options}. */
export type Settings = {
  readonly [Name in OptionName]: (typeof options)[Name] extends Option<infer Value> ? Value : never;
};

/** Converts days of retention to milliseconds. */
export function daysToMs(count: number): number {
  return count * dayMs;
}

/** Name and declaration of every setting, in the order of the documentation. */
export const optionEntries = Object.entries(options) as readonly (readonly [OptionName, Option])[];

/** Settings of one group. */
export function optionsOf(group: OptionGroup): readonly (readonly [OptionName, Option])[] {
  return optionEntries.filter(([, { group: own }]) => own === group);
}
