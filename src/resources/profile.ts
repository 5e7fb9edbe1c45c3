/** The schema of `GET /v1/profiles/{name}`: domain/profile.ts with names in snake_case. */
import { failureCategories } from "../domain/classify.ts";
import { headerValueSources, payloadFormats, signatureSchemeNames } from "../domain/profile.ts";
import { verificationMethods } from "../domain/webhook.ts";
import { closed, listOf, nullableSchema, oneOf, type Schema, Type } from "./schema.ts";

const status = Type.Integer({ minimum: 100, maximum: 599 });
const durationMs = (description: string) => Type.Integer({ minimum: 0, description });

/** An object whose property names follow a pattern. */
function mapOf(names: string, values: Schema, description: string) {
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
    category: Type.Optional(oneOf(failureCategories, { description: "Absent if the outcome is accepted." })),
    attention: Type.Optional(
      oneOf(["warn", "notify", "escalate"], {
        description:
          "Who is notified: the log; other webhooks of the tenant that subscribe to `posthorn.*`; those and the operator's log.",
      }),
    ),
    receiver_state_unknown: Type.Optional(
      Type.Literal(true, { description: "The status does not show whether the request was processed." }),
    ),
    reason: Type.Optional(Type.String("The `reason` of a transient outcome, if it is not the default.")),
  },
  { title: "ProfileStatusRule" },
);

const classification = closed(
  {
    statuses: mapOf(statusNames, statusRule, "Exact statuses, which take precedence."),
    classes: mapOf("^[1-5]$", statusRule, "Classes by first digit, for statuses that are not listed."),
    fallback: statusRule,
    incomplete_response: oneOf(["transient", "by_status"], {
      description: "Outcome of a response that breaks off after its status line.",
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
    description: "The exact status applies first, then its class, then the fallback.",
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
      delays_ms: Type.Array(durationMs("Delay before the next request."), { minItems: 1 }),
      jitter,
    }),
    closed({
      kind: Type.Literal("exponential"),
      attempts_max: Type.Integer({ minimum: 1, description: "Total number of requests." }),
      base_delay_ms: durationMs("Delay before the second request."),
      multiplier: Type.Number({ minimum: 1 }),
      delay_ms_max: durationMs("Upper limit of the delay."),
      jitter,
    }),
  ],
});

const pauses = closed(
  {
    retry_after_statuses: Type.Array(status, {
      description: "Statuses whose Retry-After pauses all deliveries of the webhook.",
    }),
    categories_ms: mapOf(
      categoryNames,
      durationMs("Minimum pause."),
      "Pauses after a failure of a category.",
    ),
    unanswered_ms: durationMs(
      "Pause after a connection that closed without a response; 0 disables the pause.",
    ),
    throttle_statuses_ms: mapOf(
      statusNames,
      durationMs("Duration."),
      "Statuses after which the webhook is throttled.",
    ),
  },
  { title: "ProfilePauses", description: "When a failure holds back all deliveries of a webhook." },
);

const disable = closed(
  {
    suspend_statuses: Type.Array(status, { description: "Statuses that suspend the webhook immediately." }),
    suspended_to_disabled_ms: durationMs("A webhook that has been suspended this long is disabled."),
    persistent_statuses: Type.Array(status, {
      description: "A webhook that returns only these statuses for `persistent_ms` is disabled.",
    }),
    persistent_ms: durationMs("See `persistent_statuses`."),
    consecutive_terminal_max: Type.Integer({
      minimum: 0,
      description: "Number of consecutive terminal outcomes that suspend the webhook; 0 for never.",
    }),
    on_exhausted: oneOf(["never", "always", "without_success"], {
      description: "Whether a delivery that exhausts its retries disables the webhook.",
    }),
    exhausted_ms_min: durationMs(
      "Applies only if the endpoint has failed for this long without an accepted attempt.",
    ),
  },
  { title: "ProfileDisableRules", description: "When a webhook is suspended or disabled." },
);

const circuitBreaker = closed(
  {
    enabled: Type.Boolean(),
    error_threshold_percentage: Type.Integer({ minimum: 0, maximum: 100 }),
    minimum_throughput: Type.Integer({ minimum: 1 }),
    window_size_ms: durationMs("Attempts within this time are counted."),
    sleep_window_ms: durationMs("How long the circuit stays open."),
    half_open_max_calls: Type.Integer({ minimum: 1 }),
  },
  { title: "ProfileCircuitBreaker" },
);

const header = Type.Unsafe<unknown>({
  title: "ProfileHeader",
  description: "The source of the value, or the value itself.",
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
  { title: "ProfileRegistration", description: "What a webhook must have before anything is sent to it." },
);

const rateLimit = closed(
  { requests_per_minute: Type.Integer({ minimum: 1 }), burst: Type.Integer({ minimum: 1 }) },
  { description: "Default for webhooks without their own limit; null is unlimited." },
);

const profileProperties = {
  name: Type.String(),
  title: Type.String(),
  description: Type.String(),
  classification,
  schedule,
  retry_delay_floors_ms: mapOf(
    categoryNames,
    durationMs("Minimum delay."),
    "Minimum delays before a retry, by failure category.",
  ),
  age_ms_max: durationMs("Age after which a delivery becomes a dead letter with the reason `expired`."),
  attempts_max_by_category: mapOf(
    categoryNames,
    Type.Integer({ minimum: 1 }),
    "Maximum number of requests after failures of a category.",
  ),
  sunset: oneOf(["terminal", "ignored"], {
    description: "Whether a failure after the time in a `Sunset` header is final.",
  }),
  timeout_ms: durationMs("Timeout of the first request."),
  timeout_growth_factor: Type.Number({
    minimum: 1,
    description: "Factor by which the timeout grows with each further request.",
  }),
  pauses,
  disable,
  circuit_breaker: circuitBreaker,
  circuit_breaker_ignores_statuses: Type.Array(status),
  rate_limit: nullableSchema(rateLimit),
  signature_schemes: Type.Array(oneOf(signatureSchemeNames), { description: "The default schemes." }),
  signature_schemes_allowed: Type.Array(oneOf(signatureSchemeNames)),
  payload_formats: Type.Array(oneOf(payloadFormats), {
    minItems: 1,
    description: "The first is the default.",
  }),
  empty_data_refused: Type.Boolean(
    "Events whose `data` is `{}` are not sent and become dead letters with the reason `empty_data`.",
  ),
  headers: Type.Array(header, { description: "In the order in which they are sent." }),
  migration_headers: Type.Array(header),
  registration,
};

export const profileSchema = closed(profileProperties, {
  title: "Profile",
  description: "A delivery profile. Durations are in milliseconds.",
});

const exampleSchema = closed(
  {
    url: Type.String("URL of the request; included in some signatures."),
    secret: Type.String(
      "The shared secret of the signatures. It is used only in this example, so that you can test your verification.",
    ),
    public_key: Type.String("Public key of the Ed25519 signatures."),
    messages: Type.Array(
      closed(
        {
          payload_format: oneOf(payloadFormats),
          headers: Type.Array(closed({ name: Type.String(), value: Type.String() }), {
            description: "In the order in which they are sent.",
          }),
          body: Type.String(),
        },
        { title: "ProfileExampleMessage" },
      ),
      { description: "One for each payload format, signed with the schemes of the profile." },
    ),
  },
  { title: "ProfileExample", description: "Complete messages. Ids and times are fictitious." },
);

export const profileWithExampleSchema = closed(
  { ...profileProperties, example: exampleSchema },
  { title: "ProfileWithExample", description: "A delivery profile with example messages." },
);
export const profileListSchema = listOf(profileSchema, "ProfileList");
