import assert from "node:assert/strict";
import { test } from "node:test";
import { WaitingSlots } from "./request-slots.ts";
import { Places, type FreePlace } from "./sender-places.ts";

function taken(free: FreePlace | null): FreePlace {
  assert.ok(free !== null, "there was no place");
  return free;
}

const of = (key: string) => ({ tenantId: "t", key });

test("slots are limited per key and in total, and a slot is freed only once", () => {
  const places = new Places({ totalMax: 3, perKeyMax: 2 }, null);
  const [one, two] = [taken(places.take(of("a"), 0, 0)), taken(places.take(of("a"), 0, 0))];
  assert.equal(places.take(of("a"), 0, 0), null);
  taken(places.take(of("b"), 0, 0));
  assert.equal(places.take(of("c"), 0, 0), null);
  one(0);
  one(0);
  assert.equal(places.total, 2);
  taken(places.take(of("c"), 0, 0));
  two(0);
  assert.equal(places.total, 2);
});

test("freeing a slot twice does not take the slot of a later sender", () => {
  const places = new Places({ totalMax: 9, perKeyMax: 1 }, null);
  const before = taken(places.take(of("a"), 0, 0));
  before(0);
  taken(places.take(of("a"), 0, 0));
  before(0);
  assert.equal(places.take(of("a"), 0, 0), null);
});

test("a sender without a slot is asked to return later than the previous one, ten per second", () => {
  const places = new Places({ totalMax: 100, perKeyMax: 1 }, null);
  const free = taken(places.take(of("a"), 0, 0));
  const waits = Array.from({ length: 12 }, () => places.returnsInMs("a", 0));
  assert.deepEqual(waits.slice(0, 3), [1_000, 1_100, 1_200]);
  assert.equal(waits.at(-1), 2_100);
  assert.equal(places.returnsInMs("a", 2_000), 1_000, "those before it have come back by then");
  free(2_000);
  taken(places.take(of("a"), 0, 2_000));
  assert.equal(places.returnsInMs("a", 2_000), 1_000, "all its places were free in between");
});

test("if slots are freed quickly, more senders return per second", () => {
  const places = new Places({ totalMax: 100, perKeyMax: 5 }, null);
  const held = Array.from({ length: 5 }, () => taken(places.take(of("a"), 0, 0)));
  for (const free of held.slice(0, 4)) free(50);
  for (let count = 0; count < 4; count += 1) taken(places.take(of("a"), 0, 50));
  const waits = Array.from({ length: 3 }, () => places.returnsInMs("a", 50));
  assert.deepEqual(waits, [1_000, 1_010, 1_020], "five places, each for 50 ms: one every 10 ms");
});

test("if all slots together are in use, senders also return one after another", () => {
  const places = new Places({ totalMax: 1, perKeyMax: 1 }, null);
  taken(places.take(of("a"), 0, 0));
  assert.deepEqual(
    ["b", "c", "a", "d"].map((key) => places.returnsInMs(key, 0)),
    [1_000, 1_100, 1_000, 1_200],
  );
});

test("no wait is longer than a minute, even if the clock is set back", () => {
  const places = new Places({ totalMax: 100, perKeyMax: 1 }, null);
  taken(places.take(of("a"), 0, 1_000_000));
  const waits = Array.from({ length: 2_000 }, () => places.returnsInMs("a", 1_000_000));
  assert.equal(Math.max(...waits), 60_000);
  assert.equal(places.returnsInMs("a", 0), 60_000);
});

for (const sources of [25, 200])
  test(`${sources} sources of one tenant with hanging destinations and 22 senders each do not block a source of another tenant`, () => {
    const waiting = new WaitingSlots(1_000, () => true);
    const places = new Places({ totalMax: 100, perKeyMax: 20 }, waiting);
    const held = new Map<number, number>();
    for (let now = 0; now < 60_000; now += 1_000) {
      // Senders that found no slot try again after a second.
      for (let source = 0; source < sources; source += 1)
        for (let sender = held.get(source) ?? 0; sender < 22; sender += 1)
          if (places.take({ tenantId: "hanging", key: `s${source}` }, 100, now) !== null)
            held.set(source, (held.get(source) ?? 0) + 1);
      const free = places.take({ tenantId: "other", key: "other" }, 100, now + 500);
      taken(free)(now + 520);
    }
    const all = [...held.values()];
    assert.ok(
      all.every((count) => count <= 20),
      "active and waiting ones together",
    );
    assert.ok(all.length === sources || all.length >= 20, "many of them are tried");
  });

test("sources of one tenant share its slots, and a message that waits for a second releases its slot", () => {
  const places = new Places({ totalMax: 10, perKeyMax: 20 }, new WaitingSlots(4, () => false));
  const take = (key: string, now: number) => places.take({ tenantId: "t", key }, 0, now);
  const first = Array.from({ length: 10 }, () => take("first", 0)).filter((free) => free !== null);
  assert.equal(first.length, 7, "less than twice what is free");
  taken(take("second", 0))(10);
  const next = Array.from({ length: 10 }, () => take("first", 1_000)).filter((free) => free !== null);
  assert.equal(places.total, 10, "three wait, and there are seven active ones again");
  for (const free of [...first, ...next]) free(2_000);
  assert.equal(places.total, 0);
});
