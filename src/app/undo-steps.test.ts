import assert from "node:assert/strict";
import { test } from "node:test";
import { UndoSteps } from "./posthorn.ts";

test("steps are undone in reverse order, and the current step has a name", async () => {
  const undo = new UndoSteps();
  const seen: (string | null)[] = [];
  for (const what of ["store", "engine"]) undo.defer(what, () => void seen.push(undo.current));
  const api = Promise.withResolvers<null>();
  undo.defer("api", async () => void (await api.promise));
  undo.keep();
  const ended = undo.run();
  assert.equal(undo.current, "api");
  api.resolve(null);
  await ended;
  assert.deepEqual(seen, ["engine", "store"]);
  assert.equal(undo.current, null);
});

test("a failed start is undone at once; a successful one is not", async () => {
  const undone: string[] = [];
  {
    await using failed = new UndoSteps();
    failed.defer("failed", () => void undone.push("failed"));
    await using succeeded = new UndoSteps();
    succeeded.defer("succeeded", () => void undone.push("succeeded"));
    succeeded.keep();
  }
  assert.deepEqual(undone, ["failed"]);
});
