/** How a receiver confirms that it wants the events, and what it can report. */
import { Type } from "./type.ts";
import { verificationMethods } from "../../core/webhook.ts";
import { incidentFields } from "../../core/fields/actions.ts";
import { closed, idSchema, instant, nullableSchema, oneOf } from "./building-blocks.ts";
import { schemaOf } from "./field-schema.ts";

export const verificationSchema = closed(
  {
    method: oneOf(verificationMethods),
    state: oneOf(["none", "pending", "granted", "refused"]),
    detail: nullableSchema(Type.String({ description: "The request and the response." })),
    granted_at: nullableSchema(instant("When the receiver permitted deliveries.")),
    requested_rate_per_minute: nullableSchema(Type.Integer()),
    allowed_rate_per_minute: nullableSchema(
      Type.Integer({ description: "The rate that the receiver permits; null if unlimited." }),
    ),
    when_unsupported: oneOf(["refuse", "slow"]),
    dns_record: nullableSchema(
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
    webhook_id: idSchema("the webhook"),
    state: oneOf(["granted"]),
    allowed_rate_per_minute: nullableSchema(Type.Integer()),
  },
  { title: "VerificationGranted" },
);

export const incidentInputSchema = schemaOf(incidentFields, {
  title: "IncidentInput",
  examples: [{ kind: "bad_signature", detail: "three messages signed with an unknown key" }],
});

export const incidentResultSchema = closed(
  { event_id: idSchema("the operational event that announces it") },
  { title: "IncidentReported" },
);
