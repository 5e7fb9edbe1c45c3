import { test } from "node:test";
import { assertFrozen, golden, rename, renamesOf } from "./golden.ts";
import { plansOf, statementsIn } from "./plans.ts";

test("PostgreSQL plans of the listed statements are unchanged", async () => {
  const statements = statementsIn(rename(golden("plans-postgres.txt"), renamesOf("plans-postgres.txt")));
  assertFrozen("plans-postgres.txt", await plansOf("postgres", statements), "sorted blocks");
});
