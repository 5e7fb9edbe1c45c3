/** The fields of the form for a webhook. */
import type { Webhook } from "../../shared/resources.ts";
import { typedOf, type FormField, type Typed } from "../form/form-fields.ts";

export const webhookFields: readonly FormField[] = [
  { name: "url", label: "URL", kind: "line", hint: "https, and a public address." },
  {
    name: "events",
    label: "Event types",
    kind: "list",
    hint: "order.* takes all below, * all; commas between.",
  },
  { name: "description", label: "Description", kind: "line" },
  {
    name: "tenant_id",
    label: "Tenant",
    kind: "line",
    hint: "The default tenant when left empty.",
    isForCreation: true,
    isForAdmins: true,
  },
  { name: "profile", label: "Profile", kind: "choice", hint: "Signatures, retries and headers, as data." },
  { name: "active", label: "Deliver to it", kind: "flag" },
  {
    name: "rate_limit.requests_per_minute",
    label: "Requests a minute at most",
    kind: "number",
    hint: "No limit when left empty.",
    isSeldom: true,
  },
  { name: "rate_limit.burst", label: "Requests at once", kind: "number", isSeldom: true },
  {
    name: "ordering_guarantee",
    label: "Order",
    kind: "choice",
    choices: [
      ["none", "none: as fast as it goes"],
      ["per_event_type", "in order for each event type"],
      ["strict", "in order, one at a time"],
    ],
    isSeldom: true,
  },
  { name: "timeout_ms", label: "Timeout, ms", kind: "number", isSeldom: true },
  { name: "retry_config.max_attempts", label: "Attempts at most", kind: "number", isSeldom: true },
  {
    name: "verification",
    label: "The receiver shows that it wants events",
    kind: "choice",
    choices: [
      ["none", "no"],
      ["challenge", "by echoing a text"],
      ["cloudevents", "by the CloudEvents handshake"],
      ["dns", "by a TXT record of its domain"],
    ],
    isForCreation: true,
    isSeldom: true,
  },
  {
    name: "headers",
    label: "Headers",
    kind: "headers",
    hint: "One a line, such as X-Shop: berlin. Shown to everybody who may read.",
    isSeldom: true,
  },
  {
    name: "bearer_token",
    label: "Bearer token",
    kind: "secret",
    hint: "Kept encrypted and never shown. Left empty it stays as it is.",
    isSeldom: true,
  },
  {
    name: "secret",
    label: "Signing secret",
    kind: "secret",
    hint: "Made by the server when left empty, and shown once.",
    isForCreation: true,
    isSeldom: true,
  },
  { name: "http2", label: "HTTP/2 where the receiver offers it", kind: "flag", isSeldom: true },
  { name: "metadata", label: "Metadata (JSON)", kind: "json", isSeldom: true },
];

/** What a webhook has, as it would be typed. Without one, what a new one begins with. */
export function typedWebhook(webhook: Webhook | null): Typed {
  const begun: Typed = { active: "true", metadata: "{}", profile: "standard", ordering_guarantee: "none" };
  return webhook === null ? { ...begun, verification: "none" } : typedOf(webhookFields, webhook);
}
