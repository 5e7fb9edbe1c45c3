import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiClient } from "../api-client.ts";
import { followSource } from "./listen-source.ts";

test("following starts when begun is called", async () => {
  const stop = new AbortController();
  const row = (id: string) => ({ id, outcome: "rejected" });
  const rows = [row("request-1")];
  let looks = 0;
  const client = {
    get: async () => {
      looks += 1;
      const data = rows.toReversed();
      await new Promise(setImmediate);
      return { data, next_cursor: null };
    },
  } as unknown as ApiClient;
  const rejected: unknown[] = [];
  await followSource({
    client,
    sourceId: "source-1",
    signal: stop.signal,
    begun: () => {
      assert.equal(looks, 1, "existing requests are known");
      rows.push(row("request-2"));
    },
    receive: () => assert.fail("nothing was accepted"),
    reject: ({ id }) => {
      rejected.push(id);
      stop.abort();
    },
    missed: () => assert.fail("nothing was missed"),
  });
  assert.deepEqual(rejected, ["request-2"]);
});
