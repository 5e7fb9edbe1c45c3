// Written by `npm run form-hints` from src/resources/webhook.ts.

export const webhookSettings = [{ "name": "timeout_ms", "label": "Timeout, ms", "kind": "number" }] as const;

export const webhookFilterNames = [
  "event_type",
  "status",
  "circuit",
  "health",
  "failing",
  "paused",
  "tenant_id",
] as const;
