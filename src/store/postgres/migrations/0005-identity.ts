import type { PostgresMigration } from "../migrations.ts";

/**
 * Identifies this deployment, for data that is kept elsewhere, and the worker behind a number: after a restore numbers
 * are reused, tokens never.
 */
export const identity: PostgresMigration = {
  number: 5,
  name: "identity",
  sql: `
ALTER TABLE posthorn.deployment ADD COLUMN id uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE posthorn.workers ADD COLUMN token uuid NOT NULL DEFAULT gen_random_uuid();
`,
};
