import assert from "node:assert/strict";
import { test } from "node:test";
import { type Place, Places } from "./places.ts";

function taken(place: Place): { free(): void } {
  assert.ok(place.kind === "taken", "there was no place");
  return place;
}

function waitMsOf(place: Place): number {
  assert.ok(place.kind === "full", "there was a place");
  return place.waitMs;
}

test("G18 places of a key and of all, and a place is freed once", () => {
  const places = new Places({ totalMax: 3, perKeyMax: 2 });
  const [one, two] = [taken(places.take("a", 0)), taken(places.take("a", 0))];
  assert.equal(places.take("a", 0).kind, "full");
  taken(places.take("b", 0));
  assert.equal(places.take("c", 0).kind, "full");
  one.free();
  taken(places.take("c", 0));
  two.free();
  assert.equal(places.total, 2);
});

test("G18 who finds no place is asked to come back later than the last one was, ten a second", () => {
  const places = new Places({ totalMax: 100, perKeyMax: 1 });
  const place = taken(places.take("a", 0));
  const waits = Array.from({ length: 12 }, () => waitMsOf(places.take("a", 0)));
  assert.deepEqual(waits.slice(0, 3), [1_000, 1_100, 1_200]);
  assert.equal(waits.at(-1), 2_100);
  assert.equal(waitMsOf(places.take("a", 2_000)), 1_000, "those before it have come back by then");
  place.free();
  taken(places.take("a", 2_000)).free();
  taken(places.take("a", 2_000));
  assert.equal(waitMsOf(places.take("a", 2_000)), 1_000, "a key whose places were all free begins anew");
});

test("G18 nobody is asked to wait for more than a minute, also when the clock is set back", () => {
  const places = new Places({ totalMax: 100, perKeyMax: 1 });
  taken(places.take("a", 1_000_000));
  const waits = Array.from({ length: 2_000 }, () => waitMsOf(places.take("a", 1_000_000)));
  assert.equal(Math.max(...waits), 60_000);
  assert.equal(waitMsOf(places.take("a", 0)), 60_000);
});
