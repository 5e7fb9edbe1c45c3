import type { PostgresMigration } from "../migrations.ts";

/**
 * Which deployment this is, for what is kept elsewhere on its behalf, and which worker a number stands for: after a restore
 * numbers are given again, tokens never.
 */
export const identity: PostgresMigration = {
  number: 5,
  name: "identity",
  sql: `
ALTER TABLE posthorn.deployment ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE posthorn.workers ADD COLUMN token uuid NOT NULL DEFAULT gen_random_uuid();
`,
};
