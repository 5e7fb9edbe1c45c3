import type { Webhook } from "../../shared/resources.ts";
import { webhookSettings } from "../../shared/webhook-settings.ts";
import { type FormField, seldom, type Typed, typedOf } from "../form/form-fields.ts";

export const webhookFields: readonly FormField[] = [
  { name: "url", label: "URL", kind: "line", hint: "An https URL with a public address." },
  {
    name: "events",
    label: "Event types",
    kind: "list",
    hint: "Comma-separated. order.* matches all types below order, * matches all types.",
  },
  { name: "description", label: "Description", kind: "line" },
  {
    name: "tenant_id",
    label: "Tenant",
    kind: "line",
    hint: "Leave empty to use the default tenant.",
    isForCreation: true,
    isForAdmins: true,
  },
  { name: "profile", label: "Profile", kind: "choice", hint: "Defines signatures, retries and headers." },
  { name: "active", label: "Enabled", kind: "flag" },
  ...seldom([
    {
      name: "rate_limit.requests_per_minute",
      label: "Requests per minute",
      kind: "number",
      hint: "Leave empty for no limit.",
    },
    { name: "rate_limit.burst", label: "Burst size", kind: "number" },
    {
      name: "ordering_guarantee",
      label: "Ordering",
      kind: "choice",
      choices: [
        ["none", "none: fastest"],
        ["per_event_type", "in order per event type"],
        ["strict", "in order, one at a time"],
      ],
    },
    ...webhookSettings,
    { name: "retry_config.max_attempts", label: "Maximum attempts", kind: "number" },
    {
      name: "verification",
      label: "Receiver verification",
      kind: "choice",
      choices: [
        ["none", "none"],
        ["challenge", "echo of a challenge"],
        ["cloudevents", "CloudEvents handshake"],
        ["dns", "DNS TXT record"],
      ],
      isForCreation: true,
    },
    {
      name: "headers",
      label: "Headers",
      kind: "headers",
      hint: "One per line, such as X-Shop: berlin. Visible to all keys with read access.",
    },
    {
      name: "bearer_token",
      label: "Bearer token",
      kind: "secret",
      hint: "Stored encrypted and never shown. If empty, the current token is kept.",
    },
    {
      name: "secret",
      label: "Signing secret",
      kind: "secret",
      hint: "If empty, the server generates one. It is shown once.",
      isForCreation: true,
    },
    { name: "http2", label: "Use HTTP/2 if the receiver supports it", kind: "flag" },
    { name: "metadata", label: "Metadata (JSON)", kind: "json" },
  ]),
];

/** Values of a webhook as typed text. If the webhook is null, the defaults of a new webhook. */
export function typedWebhook(webhook: Webhook | null): Typed {
  const begun: Typed = { active: "true", metadata: "{}", profile: "standard", ordering_guarantee: "none" };
  return webhook === null ? { ...begun, verification: "none" } : typedOf(webhookFields, webhook);
}
