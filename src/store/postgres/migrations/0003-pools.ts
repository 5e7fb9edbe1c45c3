import type { PostgresMigration } from "../migrations.ts";

/** Pools of workers (WDS-220). Only columns with a constant default; a version without pools works in `default`. */
export const pools: PostgresMigration = {
  number: 3,
  name: "pools",
  sql: `
ALTER TABLE posthorn.workers ADD COLUMN pool text COLLATE "C" NOT NULL DEFAULT 'default';
ALTER TABLE posthorn.tenants ADD COLUMN pool text COLLATE "C" NOT NULL DEFAULT 'default';
CREATE INDEX tenants_pool ON posthorn.tenants (pool) WHERE pool <> 'default';
`,
};
