import type { PostgresMigration } from "../migrations.ts";

/** Like migration 13 of SQLite. */
export const webhookHistory: PostgresMigration = {
  number: 16,
  name: "webhook-history",
  sql: `
CREATE TABLE posthorn.webhook_history (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  revision integer,
  webhook text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  document text NOT NULL
);
CREATE INDEX webhook_history_webhook ON posthorn.webhook_history (webhook, seq);
`,
};
