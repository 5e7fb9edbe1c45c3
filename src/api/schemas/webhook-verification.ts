/** How a receiver shows that it wants the events, and what it may report back. */
import { Type } from "typebox";
import { verificationMethods } from "../../core/webhook.ts";
import type { VerificationMethod } from "../../core/webhook.ts";
import { incidentKinds } from "../../engine/services.ts";
import { closed, id, instant, instantOrDate, line, nullable, oneOf } from "./building-blocks.ts";

const rateMax = 1_000_000;

export interface VerificationObject {
  readonly method: VerificationMethod;
  readonly requested_rate_per_minute?: number | null;
  readonly when_unsupported?: "refuse" | "slow";
}

/** A name or an object. Written as one schema, whose keywords apply by type: messages then name the field. */
export const verificationInput = Type.Unsafe<VerificationMethod | VerificationObject | null>({
  type: ["string", "object", "null"],
  pattern: `^(${verificationMethods.join("|")})$`,
  "x-rule": `one of ${verificationMethods.join(", ")}, or an object with "method"`,
  properties: {
    method: oneOf(verificationMethods),
    requested_rate_per_minute: nullable(
      Type.Integer({
        minimum: 1,
        maximum: rateMax,
        description: "`cloudevents`: asked for in the handshake.",
      }),
    ),
    when_unsupported: oneOf(["refuse", "slow"], {
      default: "refuse",
      description:
        "`cloudevents`: a receiver that does not know the handshake gets nothing, or one request a minute.",
    }),
  },
  required: ["method"],
  additionalProperties: false,
  description:
    "How the receiver shows that it wants the events: `challenge` echoes a text, `cloudevents` permits by OPTIONS or callback, `dns` is a TXT record of its domain. Until then the webhook is `unverified`.",
  examples: ["challenge", { method: "cloudevents", requested_rate_per_minute: 120 }],
});

export const verificationSchema = closed(
  {
    method: oneOf(verificationMethods),
    state: oneOf(["none", "pending", "granted", "refused"]),
    detail: nullable(Type.String({ description: "What was asked, and what came back." })),
    granted_at: nullable(instant("When the receiver permitted it.")),
    requested_rate_per_minute: nullable(Type.Integer()),
    allowed_rate_per_minute: nullable(
      Type.Integer({ description: "What the receiver permits; null is no limit." }),
    ),
    when_unsupported: oneOf(["refuse", "slow"]),
    dns_record: nullable(
      closed(
        { name: Type.String(), value: Type.String() },
        { title: "DnsRecord", description: "The TXT record to publish, with the method `dns`." },
      ),
    ),
  },
  { title: "Verification" },
);

export const callbackQuerySchema = closed({
  key: Type.String({ minLength: 1, maxLength: 256, description: "The secret of the callback URL." }),
});

export const callbackResultSchema = closed(
  {
    webhook_id: id("the webhook"),
    state: oneOf(["granted"]),
    allowed_rate_per_minute: nullable(Type.Integer()),
  },
  { title: "VerificationGranted" },
);

export const incidentInputSchema = closed(
  {
    kind: oneOf(incidentKinds),
    detail: Type.String({
      minLength: 1,
      maxLength: 2_000,
      description: "What happened. Leave secrets out: the owner's webhooks receive it.",
    }),
    message_id: Type.Optional(
      nullable(line(255, { minLength: 1, description: "`Webhook-ID` of the message." })),
    ),
    occurred_at: Type.Optional(nullable(instantOrDate("When it happened."))),
  },
  {
    title: "IncidentInput",
    examples: [{ kind: "bad_signature", detail: "three messages with a signature of no known key" }],
  },
);

export const incidentResultSchema = closed(
  { event_id: id("the system event that announces it") },
  { title: "IncidentReported" },
);
