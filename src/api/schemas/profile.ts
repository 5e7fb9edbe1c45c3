/** The schema of `GET /v1/profiles/{name}`: core/profile.ts with names in snake_case. */
import { Type } from "./type.ts";
import type { Schema } from "./type.ts";
import { failureCategories } from "../../core/outcome.ts";
import { headerValueSources, payloadFormats, signatureSchemeNames } from "../../core/profile.ts";
import { verificationMethods } from "../../core/webhook.ts";
import { closed, listOf, nullable, oneOf } from "./building-blocks.ts";

const status = Type.Integer({ minimum: 100, maximum: 599 });
const durationMs = (description: string) => Type.Integer({ minimum: 0, description });

/** An object whose member names are not known beforehand, but follow a pattern. */
function mapOf(
  names: string,
  { values, description }: { readonly values: Schema; readonly description: string },
) {
  return Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: "object",
    patternProperties: { [names]: values },
    additionalProperties: false,
    description,
  });
}

const categoryNames = `^(?:${failureCategories.join("|")})$`;
const statusNames = "^[1-5][0-9]{2}$";

const statusRule = closed(
  {
    outcome: oneOf(["accepted", "transient", "terminal"]),
    category: Type.Optional(oneOf(failureCategories, { description: "Absent for accepted." })),
    attention: Type.Optional(
      oneOf(["warn", "notify", "escalate"], {
        description:
          "Who hears of it: the log; other webhooks of the tenant that take `posthorn.*`; those and the operator's log.",
      }),
    ),
    receiver_state_unknown: Type.Optional(
      Type.Literal(true, { description: "The status leaves open whether the request was processed." }),
    ),
    reason: Type.Optional(
      Type.String({ description: "The `reason` of a transient outcome, where it is not the usual one." }),
    ),
  },
  { title: "ProfileStatusRule" },
);

const classification = closed(
  {
    statuses: mapOf(statusNames, { values: statusRule, description: "Exact statuses, which win." }),
    classes: mapOf("^[1-5]$", {
      values: statusRule,
      description: "Classes by their first digit, for statuses that are not named.",
    }),
    fallback: statusRule,
    incomplete_response: oneOf(["transient", "by_status"], {
      description: "What an answer means that breaks off after its status line.",
    }),
    failures: closed({
      timeout: statusRule,
      network: statusRule,
      dns: statusRule,
      ssl: statusRule,
      protocol: statusRule,
    }),
  },
  {
    title: "ProfileClassification",
    description: "The exact status decides, else its class, else the fallback.",
  },
);

const jitter = closed(
  { from: Type.Number({ minimum: 0 }), to: Type.Number({ minimum: 0 }) },
  { description: "Each delay is multiplied by a random number from `from` to `to`." },
);

const schedule = Type.Unsafe<unknown>({
  title: "ProfileSchedule",
  description: "Delays between requests.",
  anyOf: [
    closed({
      kind: Type.Literal("list"),
      delays_ms: Type.Array(durationMs("Before the next request."), { minItems: 1 }),
      jitter,
    }),
    closed({
      kind: Type.Literal("exponential"),
      attempts_max: Type.Integer({ minimum: 1, description: "Requests in all." }),
      base_delay_ms: durationMs("Before the second request."),
      multiplier: Type.Number({ minimum: 1 }),
      delay_ms_max: durationMs("No delay is longer."),
      jitter,
    }),
  ],
});

const pauses = closed(
  {
    retry_after_statuses: Type.Array(status, {
      description: "Statuses whose Retry-After pauses every delivery of the webhook.",
    }),
    categories_ms: mapOf(categoryNames, {
      values: durationMs("At least this long."),
      description: "Pauses after a failure of a category.",
    }),
    unanswered_ms: durationMs("Pause after a connection that ended without an answer; 0 is none."),
    throttle_statuses_ms: mapOf(statusNames, {
      values: durationMs("For this long."),
      description: "Statuses after which the webhook is throttled.",
    }),
  },
  { title: "ProfilePauses", description: "When one failure holds back every delivery of a webhook." },
);

const disable = closed(
  {
    suspend_statuses: Type.Array(status, { description: "Statuses that suspend the webhook at once." }),
    suspended_to_disabled_ms: durationMs("Suspended this long becomes disabled."),
    persistent_statuses: Type.Array(status, { description: "Only these for `persistent_ms`: disabled." }),
    persistent_ms: durationMs("See `persistent_statuses`."),
    consecutive_terminal_max: Type.Integer({
      minimum: 0,
      description: "This many terminal outcomes in a row suspend; 0 is never.",
    }),
    on_exhausted: oneOf(["never", "always", "without_success"], {
      description: "Whether a delivery that exhausts its schedule disables the webhook.",
    }),
    exhausted_ms_min: durationMs(
      "And only when the endpoint has failed this long without an accepted attempt.",
    ),
  },
  { title: "ProfileDisableRules", description: "When a webhook stops being served." },
);

const circuitBreaker = closed(
  {
    enabled: Type.Boolean(),
    error_threshold_percentage: Type.Integer({ minimum: 0, maximum: 100 }),
    minimum_throughput: Type.Integer({ minimum: 1 }),
    window_size_ms: durationMs("Attempts of this long are counted."),
    sleep_window_ms: durationMs("How long it stays open."),
    half_open_max_calls: Type.Integer({ minimum: 1 }),
  },
  { title: "ProfileCircuitBreaker" },
);

const header = Type.Unsafe<unknown>({
  title: "ProfileHeader",
  description: "Where the value comes from, or the value itself.",
  anyOf: [
    closed({ name: Type.String(), value: oneOf(headerValueSources) }),
    closed({ name: Type.String(), literal: Type.String() }),
  ],
});

const registration = closed(
  {
    verification: oneOf(verificationMethods),
    verification_required: Type.Boolean(),
    bearer_token_required: Type.Boolean(),
    permanent_redirect_allowed: Type.Boolean(),
  },
  { title: "ProfileRegistration", description: "What a webhook must bring before it is served." },
);

const rateLimit = closed(
  { requests_per_minute: Type.Integer({ minimum: 1 }), burst: Type.Integer({ minimum: 1 }) },
  { description: "Unless the webhook has one of its own; null is unlimited." },
);

const profileProperties = {
  name: Type.String(),
  title: Type.String(),
  description: Type.String(),
  classification,
  schedule,
  retry_delay_floors_ms: mapOf(categoryNames, {
    values: durationMs("At least this long."),
    description: "Smallest delays before a retry, by category of the failure.",
  }),
  age_ms_max: durationMs("A delivery older than this is dead-lettered as `expired`."),
  attempts_max_by_category: mapOf(categoryNames, {
    values: Type.Integer({ minimum: 1 }),
    description: "No more requests than this after failures of a category.",
  }),
  sunset: oneOf(["terminal", "ignored"], {
    description: "Whether a failure after the time in a `Sunset` header is the last.",
  }),
  timeout_ms: durationMs("How long the first request may take."),
  timeout_growth_factor: Type.Number({
    minimum: 1,
    description: "Each further one takes so many times as long.",
  }),
  pauses,
  disable,
  circuit_breaker: circuitBreaker,
  circuit_breaker_ignores_statuses: Type.Array(status),
  rate_limit: nullable(rateLimit),
  signature_schemes: Type.Array(oneOf(signatureSchemeNames), { description: "What is used by default." }),
  signature_schemes_allowed: Type.Array(oneOf(signatureSchemeNames)),
  payload_formats: Type.Array(oneOf(payloadFormats), {
    minItems: 1,
    description: "The first is the default.",
  }),
  empty_data_refused: Type.Boolean({
    description: "Events whose `data` is `{}` are not sent but dead-lettered as `empty_data`.",
  }),
  headers: Type.Array(header, { description: "In the order they are sent." }),
  migration_headers: Type.Array(header),
  registration,
};

export const profileSchema = closed(profileProperties, {
  title: "Profile",
  description: "A delivery profile as the engine reads it. Durations are in milliseconds.",
});

const exampleSchema = closed(
  {
    url: Type.String({ description: "Where they are posted to; signed by some schemes." }),
    secret: Type.String({ description: "Shared secret of their signatures. Nobody's: try a check with it." }),
    public_key: Type.String({ description: "Of their Ed25519 signatures." }),
    messages: Type.Array(
      closed(
        {
          payload_format: oneOf(payloadFormats),
          headers: Type.Array(closed({ name: Type.String(), value: Type.String() }), {
            description: "In the order they are sent.",
          }),
          body: Type.String(),
        },
        { title: "ProfileExampleMessage" },
      ),
      { description: "One for each payload format, signed with the schemes of the profile." },
    ),
  },
  { title: "ProfileExample", description: "Whole messages. Ids and times are made up." },
);

export const profileWithExampleSchema = closed(
  { ...profileProperties, example: exampleSchema },
  { title: "ProfileWithExample", description: "A delivery profile, and how its messages look." },
);
export const profileListSchema = listOf(profileSchema, "ProfileList");
