import type { PostgresMigration } from "../migrations.ts";

/** Like migration 21 of SQLite. */
export const mailConsent: PostgresMigration = {
  number: 23,
  name: "mail-consent",
  sql: `
CREATE TABLE posthorn.mail_addresses (
  tenant text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL UNIQUE,
  created_at bigint NOT NULL,
  confirmation_sent_at bigint,
  confirmed_at bigint,
  unsubscribed_at bigint,
  PRIMARY KEY (tenant, address)
);
CREATE INDEX mail_addresses_unconfirmed ON posthorn.mail_addresses (tenant, created_at) WHERE confirmed_at IS NULL;
CREATE TABLE posthorn.notification_counts (
  subject text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  count int NOT NULL,
  PRIMARY KEY (subject, since)
);
CREATE INDEX notification_counts_since ON posthorn.notification_counts (since);
ALTER TABLE posthorn.notification_channels ADD COLUMN address text COLLATE "C";
ALTER TABLE posthorn.notifications ADD COLUMN urgent int NOT NULL DEFAULT 0;
CREATE INDEX notifications_turns ON posthorn.notifications (tenant COLLATE "C", urgent DESC, due_at, seq)
  WHERE state = 'waiting';
UPDATE posthorn.notification_channels SET address = lower(document::jsonb ->> 'address')
  WHERE document::jsonb ->> 'kind' = 'email';
INSERT INTO posthorn.mail_addresses (tenant, address, id, created_at, confirmed_at, unsubscribed_at)
  SELECT coalesce(tenant, ''), address, id, (document::jsonb ->> 'createdAt')::bigint,
    (document::jsonb ->> 'createdAt')::bigint, (status::jsonb ->> 'unsubscribedAt')::bigint
  FROM posthorn.notification_channels WHERE address IS NOT NULL ON CONFLICT DO NOTHING;
`,
};
