import type { PostgresMigration } from "../migrations.ts";

/**
 * Statistics. Buckets of the same time are adjacent, so writing touches few pages and removing takes them from one end;
 * a reader of one webhook seeks once per bucket. No index contains what a write replaces, and pages have room for it
 * (HOT). Not partitioned: upkeep removes old rows in portions by the key, and a missing partition would refuse
 * settlements. `stat_journal` holds facts of the last seconds that no row has counted yet.
 */
export const statistics: PostgresMigration = {
  number: 9,
  name: "statistics",
  sql: `
CREATE TABLE posthorn.delivery_stats (
  bucket bigint, -- where it begins
  writer bigint, -- 0 where upkeep added up
  counted_to bigint NOT NULL,
  tenant integer, -- 0 for all
  subject integer, -- the webhook; 0 for all of the tenant
  part integer,
  step smallint, -- 0 minute, 1 hour, 2 day
  counts bytea NOT NULL,
  PRIMARY KEY (step, bucket, tenant, subject, writer, part)
) WITH (fillfactor = 60);
CREATE TABLE posthorn.event_stats (
  bucket bigint,
  writer bigint,
  counted_to bigint NOT NULL,
  tenant integer,
  subject integer, -- the type
  part integer,
  step smallint,
  counts bytea NOT NULL,
  PRIMARY KEY (step, bucket, tenant, subject, writer, part)
) WITH (fillfactor = 60);
CREATE TABLE posthorn.gauge_stats (
  bucket bigint,
  writer bigint,
  step smallint,
  document text NOT NULL,
  PRIMARY KEY (step, bucket, writer)
);
CREATE TABLE posthorn.stat_journal (
  writer bigint,
  number bigint,
  at bigint NOT NULL,
  part smallint, -- 0 publishes, 1 settlements, 2 late settlements
  facts bytea NOT NULL,
  written integer[], -- places of the facts that count, from 0; null for all of them
  PRIMARY KEY (writer, number, part)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE TABLE posthorn.stat_progress (step smallint PRIMARY KEY, done_until bigint NOT NULL);
`,
};
