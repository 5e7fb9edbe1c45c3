import { test } from "node:test";
import { assertFrozen, golden, rename, renamesOf } from "./golden.ts";
import { plansOf, statementsIn } from "./plans.ts";

test("SQLite plans of the listed statements are unchanged", async () => {
  const statements = statementsIn(rename(golden("plans-sqlite.txt"), renamesOf("plans-sqlite.txt")));
  assertFrozen("plans-sqlite.txt", await plansOf("sqlite", statements), "sorted blocks");
});
