import assert from "node:assert/strict";
import { test } from "node:test";
import { Duties } from "./duties.ts";

test("a process that ends leaves to others at once the duties that it has", async () => {
  const asked: string[] = [];
  const taken = new Set(["other"]);
  const duties = new Duties(
    {
      lead: async ({ name, holder, forMs }) => {
        asked.push(`${holder} ${name} ${forMs}`);
        return !taken.has(name);
      },
    },
    "me",
  );
  assert.equal(await duties.lead({ name: "sweep", forMs: 5 }), true);
  assert.equal(await duties.lead({ name: "upkeep", forMs: 5 }), true);
  assert.equal(await duties.lead({ name: "other", forMs: 5 }), false);
  taken.add("sweep");
  assert.equal(await duties.lead({ name: "sweep", forMs: 5 }), false);
  asked.length = 0;
  await duties.resign();
  assert.deepEqual(asked, ["me upkeep 0"]);
});

test("that the store is away keeps nobody from ending", async () => {
  let isAway = false;
  const lead = async (): Promise<boolean> => (isAway ? Promise.reject(new Error("away")) : true);
  const duties = new Duties({ lead }, "me");
  await duties.lead({ name: "sweep", forMs: 5 });
  isAway = true;
  await assert.doesNotReject(duties.resign());
});
