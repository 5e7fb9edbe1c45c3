import assert from "node:assert/strict";
import { test } from "node:test";
import type { Greeting } from "./server.ts";
import { UnansweredConnections } from "./control-connection.ts";

test("unanswered connections reopen the listening connection, once for all of them", () => {
  let renewed = 0;
  const never = new Promise<never>(() => undefined);
  const unanswered = new UnansweredConnections({ rows: () => never, renew: () => void (renewed += 1) });
  const freed: string[] = [];
  const hold = (name: string) =>
    unanswered.hold({ pid: 7, identity: "one", greetedAt: "now" } as Greeting, () => freed.push(name));
  const release = [hold("first"), hold("second")];
  assert.equal(renewed, 1);
  for (const each of release) each();
  hold("third");
  assert.equal(renewed, 2, "all were answered in between");
  unanswered.close();
  assert.deepEqual(freed, ["first", "second", "third"]);
});
