import type { PostgresMigration } from "../migrations.ts";

/**
 * Which worker owns which webhook. A worker is one row and is dead when its row is gone; the foreign key frees its
 * webhooks at the same moment. Only new tables and a column with a constant default.
 */
export const ownership: PostgresMigration = {
  number: 2,
  name: "ownership",
  sql: `
CREATE TABLE posthorn.workers (
  worker integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  alive_until timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE posthorn.ownership (
  webhook integer PRIMARY KEY, -- its number in words
  worker integer REFERENCES posthorn.workers ON DELETE SET NULL,
  fence bigint NOT NULL,
  rate_full_at double precision, -- what the owner left of the rate limit; -1 while it has one, so also when it died
  rate_handed double precision   -- what the owner found
) WITH (fillfactor = 70);
CREATE INDEX ownership_worker ON posthorn.ownership (worker) WHERE worker IS NOT NULL;
CREATE TABLE posthorn.runtime_orders (
  ref integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook text COLLATE "C" NOT NULL,
  document text NOT NULL
);
CREATE INDEX runtime_orders_webhook ON posthorn.runtime_orders (webhook, ref);
CREATE TABLE posthorn.duties (
  name text COLLATE "C" PRIMARY KEY,
  holder text NOT NULL,
  until timestamptz NOT NULL
) WITH (fillfactor = 50);

ALTER TABLE posthorn.deployment ADD COLUMN digest_key bytea;
`,
};
