import assert from "node:assert/strict";
import { test } from "node:test";
import { BodyMemory } from "./dispatch.ts";

test("one caller gets at most half, so another always finds capacity", () => {
  const memory = new BodyMemory(1_000);
  assert.equal(memory.take("greedy", 500), true);
  assert.equal(memory.take("greedy", 1), false);
  assert.equal(memory.take("other", 250), true);
  assert.equal(memory.take("other", 1), false);
  assert.equal(memory.take("third", 125), true);
});

test("released memory can be taken again, and a rejected request takes none", () => {
  const memory = new BodyMemory(1_000);
  assert.equal(memory.take("a", 501), false);
  assert.equal(memory.take("a", 500), true);
  memory.giveBack("a", 500);
  assert.equal(memory.take("b", 500), true);
  memory.giveBack("b", 500);
  assert.equal(memory.take("a", 1_001), false);
});
