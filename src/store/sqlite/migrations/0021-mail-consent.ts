import type { Migration } from "../../migrations.ts";

/**
 * Consents of mail recipients, and the number of messages sent in an hour. Addresses of existing channels count as
 * confirmed: their readers have been receiving messages.
 */
export const mailConsent: Migration = {
  number: 21,
  name: "mail-consent",
  sql: `
CREATE TABLE mail_addresses (
  tenant TEXT NOT NULL, -- empty: the operator's
  address TEXT NOT NULL, -- folded: one spelling for each address
  id TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  confirmation_sent_at INTEGER,
  confirmed_at INTEGER,
  unsubscribed_at INTEGER,
  PRIMARY KEY (tenant, address)
) WITHOUT ROWID;
CREATE INDEX mail_addresses_unconfirmed ON mail_addresses (tenant, created_at) WHERE confirmed_at IS NULL;
CREATE TABLE notification_counts (
  subject TEXT NOT NULL,
  since INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (subject, since)
) WITHOUT ROWID;
CREATE INDEX notification_counts_since ON notification_counts (since);
ALTER TABLE notification_channels ADD COLUMN address TEXT;
ALTER TABLE notifications ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0;
CREATE INDEX notifications_turns ON notifications (tenant, urgent DESC, due_at, seq) WHERE state = 'waiting';
UPDATE notification_channels SET address = lower(json_extract(document, '$.address'))
  WHERE json_extract(document, '$.kind') = 'email';
INSERT OR IGNORE INTO mail_addresses (tenant, address, id, created_at, confirmed_at, unsubscribed_at)
  SELECT coalesce(tenant, ''), address, id, json_extract(document, '$.createdAt'),
    json_extract(document, '$.createdAt'), json_extract(status, '$.unsubscribedAt')
  FROM notification_channels WHERE address IS NOT NULL;
`,
};
