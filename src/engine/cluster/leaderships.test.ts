import assert from "node:assert/strict";
import { test } from "node:test";
import { Leaderships } from "./leaderships.ts";

test("a stopping process releases its leaderships at once", async () => {
  const asked: string[] = [];
  const ledElsewhere = new Set(["other"]);
  const leaderships = new Leaderships(
    {
      acquireLeadership: async (name, owner, forMs) => {
        asked.push(`${owner} ${name} ${forMs}`);
        return !ledElsewhere.has(name);
      },
    },
    "me",
  );
  assert.equal(await leaderships.acquire("sweep", 5), true);
  assert.equal(await leaderships.acquire("upkeep", 5), true);
  assert.equal(await leaderships.acquire("other", 5), false);
  ledElsewhere.add("sweep");
  assert.equal(await leaderships.acquire("sweep", 5), false);
  asked.length = 0;
  await leaderships.resign();
  assert.deepEqual(asked, ["me upkeep 0"]);
});

test("an unavailable store does not keep a process from stopping", async () => {
  let isAway = false;
  const acquireLeadership = async (): Promise<boolean> => (isAway ? Promise.reject(new Error("away")) : true);
  const leaderships = new Leaderships({ acquireLeadership }, "me");
  await leaderships.acquire("sweep", 5);
  isAway = true;
  await assert.doesNotReject(leaderships.resign());
});
