import assert from "node:assert/strict";
import { test } from "node:test";
import { startNameServer } from "../../test/peers/name-server.ts";
import { createNameLookup } from "./host-names.ts";

test("texts of a name come from a real name server, whole and several", async (t) => {
  const server = await startNameServer();
  t.after(() => server.close());
  const names = createNameLookup([server.address]);
  const long = "x".repeat(600);
  server.records.set("_a.example.test", ["one", long]);
  assert.deepEqual(await names.texts("_a.example.test"), { kind: "found", texts: ["one", long] });
  assert.deepEqual(await names.texts("_b.example.test"), { kind: "absent" });
  server.records.set("_none.example.test", []);
  assert.deepEqual(await names.texts("_none.example.test"), { kind: "absent" });
  assert.deepEqual(server.questions.slice(0, 2), ["_a.example.test", "_b.example.test"]);
});

test("a failing server and a cancelled query are distinguished from an absent record", async (t) => {
  const server = await startNameServer();
  t.after(() => server.close());
  const names = createNameLookup([server.address]);
  server.mood = "failing";
  const failed = await names.texts("_a.example.test");
  assert.equal(failed.kind, "failed");
  server.mood = "silent";
  const asked = names.texts("_c.example.test");
  names.close();
  names.close();
  assert.deepEqual(await asked, { kind: "failed", detail: "the name servers did not respond (ECANCELLED)" });
});
