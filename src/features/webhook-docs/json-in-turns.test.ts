import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../engine/manual-clock.fixture.ts";
import { RequestPace } from "../../ports/clock.ts";
import { jsonInTurns } from "./routes.ts";

const document = {
  openapi: "3.1.0",
  missing: undefined,
  tags: [{ name: 'a"b' }, null],
  nothing: null,
  components: {
    schemas: {
      first: { type: "object", properties: { id: { type: "integer" } } },
      second: { left: undefined, enum: ["ü", 1e21] },
      third: true,
    },
  },
};

test("the text equals that of JSON.stringify", async () => {
  for (const value of [document, {}, [document], "text", null, 1]) {
    const text = await jsonInTurns(value, new RequestPace(new ManualClock()));
    assert.equal(text, JSON.stringify(value));
  }
});

test("a long document lets other work run after each of its schemas", async () => {
  let turns = 0;
  let isLong = false;
  const clock = new ManualClock();
  clock.monotonicMs = () => (isLong ? (clock.time += 10) : clock.time);
  clock.defer = (callback) => {
    turns += 1;
    setImmediate(callback);
  };
  await jsonInTurns(document, new RequestPace(clock));
  assert.equal(turns, 0, "a quick one needs none");
  isLong = true;
  await jsonInTurns(document, new RequestPace(clock));
  // Three top-level members that are not objects, and three schemas.
  assert.equal(turns, 6);
});
