import type { Migration } from "../../migrations.ts";

/**
 * Statistics. Buckets of the same time are adjacent, so writing touches a few pages and removing takes them in one
 * piece; a reader of one webhook seeks once per bucket. `stat_journal` holds facts that no row has counted yet.
 */
export const statistics: Migration = {
  number: 6,
  name: "statistics",
  sql: `
CREATE TABLE delivery_stats (
  step INTEGER, -- 0 minute, 1 hour, 2 day
  bucket INTEGER, -- where it begins
  tenant INTEGER, -- 0 for all
  subject INTEGER, -- the webhook; 0 for all of the tenant
  writer INTEGER, -- 0 where upkeep added up
  part INTEGER,
  counted_to INTEGER NOT NULL,
  counts BLOB NOT NULL,
  PRIMARY KEY (step, bucket, tenant, subject, writer, part)
) WITHOUT ROWID;
CREATE TABLE event_stats (
  step INTEGER,
  bucket INTEGER,
  tenant INTEGER,
  subject INTEGER, -- the type
  writer INTEGER,
  part INTEGER,
  counted_to INTEGER NOT NULL,
  counts BLOB NOT NULL,
  PRIMARY KEY (step, bucket, tenant, subject, writer, part)
) WITHOUT ROWID;
CREATE TABLE gauge_stats (
  step INTEGER,
  bucket INTEGER,
  writer INTEGER,
  document TEXT NOT NULL,
  PRIMARY KEY (step, bucket, writer)
) WITHOUT ROWID;
CREATE TABLE stat_journal (
  writer INTEGER,
  number INTEGER,
  at INTEGER NOT NULL,
  facts BLOB NOT NULL,
  PRIMARY KEY (writer, number)
) WITHOUT ROWID;
CREATE TABLE stat_progress (step INTEGER PRIMARY KEY, done_until INTEGER NOT NULL);
`,
};
