import type { PostgresMigration } from "../migrations.ts";

/** The call that holds a key. Older versions leave it empty and settle their own rows without it. */
export const idempotencyHolder: PostgresMigration = {
  number: 7,
  name: "idempotency-holder",
  sql: `ALTER TABLE posthorn.idempotency ADD COLUMN holder text COLLATE "C";`,
};
