import type { Migration } from "../../migrations.ts";

/** The history of webhooks, and the configuration of each revision. */
export const webhookHistory: Migration = {
  number: 13,
  name: "webhook-history",
  sql: `
CREATE TABLE webhook_history (
  seq INTEGER PRIMARY KEY,
  webhook TEXT NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  revision INTEGER, -- null where the configuration stayed as it was
  document TEXT NOT NULL
);
CREATE INDEX webhook_history_webhook ON webhook_history (webhook, seq);
`,
};
