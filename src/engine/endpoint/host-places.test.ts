import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { forceOpen } from "../../domain/circuit-breaker.ts";
import { DispatchScene } from "../dispatch/dispatch-scene.fixture.ts";
import { HostPlaces } from "./host-places.ts";

suite("slots per host", () => {
  test("the limit of a host applies across its webhooks, and other hosts have their own", async () => {
    const scene = new DispatchScene({ hostConcurrency: 3 });
    const [a, b] = [scene.endpoint("a"), scene.endpoint("b")];
    const elsewhere = scene.endpoint("elsewhere", { host: "two.example:443" });
    await scene.publish(a, 3);
    await scene.publish(b, 5);
    await scene.publish(elsewhere, 3);
    assert.deepEqual(scene.inFlight(), ["a", "a", "a", "elsewhere", "elsewhere", "elsewhere"]);
    await scene.answer(a);
    assert.deepEqual(scene.inFlight(), ["a", "a", "b", "elsewhere", "elsewhere", "elsewhere"]);
  });

  test("without a limit nothing is counted", async () => {
    const scene = new DispatchScene({});
    await scene.publish(scene.endpoint("a"), 5);
    await scene.publish(scene.endpoint("b"), 5);
    assert.equal(scene.flights.length, 10);
    assert.equal(scene.flights[0]?.place.host, null);
  });

  test("waiters are served in arrival order, of one tenant or several, ahead of those that already had a turn", async () => {
    for (const tenants of [
      ["t", "t", "t"],
      ["t", "u", "v"],
    ]) {
      const scene = new DispatchScene({ hostConcurrency: 1 });
      const all = ["a", "b", "c"].map((name, index) =>
        scene.endpoint(name, { tenant: tenants[index] ?? "" }),
      );
      for (const endpoint of all) await scene.publish(endpoint, 3);
      for (let n = 0; n < 9; n += 1) await scene.answer(scene.flights[0]?.endpoint ?? assert.fail());
      // The second endpoint of `a` was queued before the others.
      assert.deepEqual(scene.sent.join(""), "aabcabcbc");
    }
  });

  test("a slot that the next waiter cannot use goes to the one after it", async () => {
    const scene = new DispatchScene({ hostConcurrency: 1 });
    const [a, disabled, emptied, d] = ["a", "disabled", "emptied", "d"].map((name) => scene.endpoint(name));
    assert.ok(a !== undefined && disabled !== undefined && emptied !== undefined && d !== undefined);
    for (const endpoint of [a, disabled, emptied, d]) await scene.publish(endpoint);
    await scene.change(disabled, { status: "disabled" });
    for (const lane of emptied.lanes.values()) lane.take();
    await scene.answer(a);
    assert.deepEqual(scene.inFlight(), ["d"]);
  });

  test("a slot that the next waiter cannot use is not lost while the whole process is busy", async () => {
    const scene = new DispatchScene({ concurrency: 2, hostConcurrency: 1 });
    const [a, b, c] = [scene.endpoint("a"), scene.endpoint("b"), scene.endpoint("c")];
    const busy = scene.endpoint("busy", { host: "two.example:443", tenant: "crowd" });
    await scene.publish(a);
    await scene.publish(b);
    await scene.publish(c);
    await scene.publish(busy);
    await scene.publish(scene.endpoint("more", { host: "three.example:443", tenant: "crowd" }), 20);
    await scene.change(b, { status: "disabled" });
    await scene.answer(a);
    await scene.answer(busy);
    assert.ok(scene.sent.includes("c"), scene.sent.join(" "));
  });

  test("a tenant at its limit does not keep the slot reserved for it", async () => {
    const scene = new DispatchScene({ hostConcurrency: 1 });
    scene.tenantQueue("limited").limit({ requestsPerMinute: 1, burst: 1 });
    const a = scene.endpoint("a");
    const b = scene.endpoint("b", { tenant: "limited" });
    const spender = scene.endpoint("spender", { tenant: "limited", host: "two.example:443" });
    const c = scene.endpoint("c", { tenant: "other" });
    for (const endpoint of [a, b, c, spender]) await scene.publish(endpoint);
    assert.deepEqual(scene.inFlight(), ["a", "spender"]);
    await scene.answer(a);
    assert.deepEqual(scene.inFlight(), ["c", "spender"]);
    await scene.answer(c);
    scene.clock.advance(60_000);
    await scene.clock.turn();
    assert.deepEqual(scene.inFlight(), ["b", "spender"], "and it gets one when its limit lets it");
  });

  test("a tenant that reaches its limit between the call and its turn gives way too", async () => {
    const scene = new DispatchScene({ concurrency: 2, hostConcurrency: 1 });
    scene.tenantQueue("limited").limit({ requestsPerMinute: 1, burst: 1 });
    const a = scene.endpoint("a");
    const b = scene.endpoint("b", { tenant: "limited" });
    const c = scene.endpoint("c", { tenant: "other" });
    const busy = scene.endpoint("busy", { tenant: "busy", host: "two.example:443" });
    const spender = scene.endpoint("spender", { tenant: "limited", host: "three.example:443" });
    const second = scene.endpoint("second", { tenant: "limited", host: "four.example:443" });
    for (const endpoint of [a, b, c, busy, spender, second]) await scene.publish(endpoint);
    assert.deepEqual(scene.inFlight(), ["a", "busy"], "the process is busy, and the spender is next");
    await scene.answer(a);
    assert.deepEqual(scene.inFlight(), ["busy", "spender"]);
    await scene.answer(busy);
    assert.deepEqual(scene.inFlight(), ["c", "spender"]);
  });

  test("a slot is returned to the host it was taken from, even if the URL changed since", async () => {
    const scene = new DispatchScene({ hostConcurrency: 1 });
    const [moves, b] = [scene.endpoint("moves"), scene.endpoint("b")];
    const there = scene.endpoint("there", { host: "two.example:443" });
    await scene.publish(moves);
    await scene.publish(b);
    await scene.publish(there);
    await scene.change(moves, { host: "two.example:443" });
    await scene.publish(moves);
    assert.deepEqual(scene.inFlight(), ["moves", "there"]);
    await scene.answer(moves);
    assert.deepEqual(scene.inFlight(), ["b", "there"], "the new host has still one request");
    await scene.answer(there);
    assert.deepEqual(scene.inFlight(), ["b", "moves"]);
  });

  test("a waiting endpoint follows its URL, and those behind it move up", async () => {
    const scene = new DispatchScene({ hostConcurrency: 1 });
    const [a, moves, c] = [scene.endpoint("a"), scene.endpoint("moves"), scene.endpoint("c")];
    for (const endpoint of [a, moves, c]) await scene.publish(endpoint);
    await scene.change(moves, { host: "two.example:443" });
    assert.deepEqual(scene.inFlight(), ["a", "moves"]);
    await scene.answer(a);
    assert.deepEqual(scene.inFlight(), ["c", "moves"]);
  });

  test("hanging endpoints leave slots to one that responds, and to an unknown one", async () => {
    const scene = new DispatchScene({ hostConcurrency: 4 });
    const hanging = ["h1", "h2"].map((name) => scene.endpoint(name, { pace: "unknown" }));
    for (const endpoint of hanging) await scene.publish(endpoint, 10);
    assert.deepEqual(scene.inFlight(), ["h1", "h2"], "one each");
    const unknown = scene.endpoint("unknown", { pace: "unknown" });
    await scene.publish(unknown, 10);
    assert.deepEqual(scene.inFlight(), ["h1", "h2", "unknown"]);
    const late = scene.endpoint("late", { pace: "unknown" });
    await scene.publish(late, 10);
    const quick = scene.endpoint("quick");
    await scene.publish(quick, 2);
    assert.deepEqual(scene.inFlight(), ["h1", "h2", "quick", "unknown"], "three quarters are for those");
    await scene.answer(unknown);
    assert.deepEqual(scene.inFlight(), ["h1", "h2", "late", "quick"]);
  });

  test("a quick endpoint with a backlog does not block a slow one", async () => {
    const scene = new DispatchScene({ hostConcurrency: 1 });
    const quick = scene.endpoint("quick");
    const slow = scene.endpoint("slow", { pace: "unknown" });
    await scene.publish(quick, 10);
    await scene.publish(slow, 10);
    for (let n = 0; n < 8; n += 1) {
      const [flight] = scene.flights;
      assert.ok(flight !== undefined);
      await scene.answer(flight.endpoint, flight.endpoint === quick ? "quick" : "slow");
    }
    const turns = scene.sent.filter((name) => name === "slow").length;
    assert.ok(turns >= 3, scene.sent.join(" "));
  });

  test("an endpoint that proves quick while it waits may use the slots for quick ones", async () => {
    const scene = new DispatchScene({ hostConcurrency: 6 });
    const [h1, h2, h3, fresh] = ["h1", "h2", "h3", "fresh"].map((name) =>
      scene.endpoint(name, { pace: "slow" }),
    );
    assert.ok(h1 !== undefined && h2 !== undefined && h3 !== undefined && fresh !== undefined);
    const [x, q] = [scene.endpoint("x"), scene.endpoint("q")];
    await scene.publish(h1, 2);
    await scene.publish(h2);
    await scene.publish(fresh);
    await scene.publish(x, 2);
    assert.deepEqual(scene.inFlight(), ["fresh", "h1", "h1", "h2", "x", "x"]);
    for (const endpoint of [q, h3, fresh]) await scene.publish(endpoint);
    await scene.answer(x);
    await scene.publish(q);
    await scene.answer(fresh);
    assert.deepEqual(scene.inFlight(), ["h1", "h1", "h2", "q", "q", "x"], "it waits, and is quick now");
    await scene.answer(x);
    assert.deepEqual(scene.inFlight(), ["h1", "h1", "h2", "h3", "q", "q"], "the slow have all their places");
    await scene.answer(q);
    assert.deepEqual(scene.inFlight(), ["fresh", "h1", "h1", "h2", "h3", "q"]);
  });

  test("a slot is not reserved for an endpoint that lacks a slot of the process", async () => {
    const scene = new DispatchScene({ concurrency: 2, hostConcurrency: 1 });
    const hangs = scene.endpoint("hangs", { host: "two.example:443", pace: "unknown" });
    const [a, slow, c] = [
      scene.endpoint("a"),
      scene.endpoint("slow", { pace: "unknown" }),
      scene.endpoint("c"),
    ];
    for (const endpoint of [a, slow, hangs]) await scene.publish(endpoint);
    assert.deepEqual(scene.inFlight(), ["a", "hangs"]);
    await scene.answer(a);
    assert.deepEqual(scene.inFlight(), ["hangs"]);
    await scene.publish(c);
    assert.deepEqual(scene.inFlight(), ["c", "hangs"]);
    await scene.answer(hangs, "slow");
    await scene.answer(c);
    assert.deepEqual(scene.inFlight(), ["slow"]);
  });

  test("an ordered lane keeps its order, with one request in flight, however its host is shared", async () => {
    const scene = new DispatchScene({ hostConcurrency: 1 });
    const ordered = scene.endpoint("ordered", { ordering: "strict" });
    const other = scene.endpoint("other");
    await scene.publish(ordered, 3);
    await scene.publish(other, 3);
    const refs: unknown[] = [];
    for (let n = 0; n < 6; n += 1) {
      const [flight] = scene.flights;
      assert.ok(flight !== undefined && scene.flights.length === 1);
      if (flight.endpoint === ordered) refs.push(flight.delivery.lease.ref);
      await scene.answer(flight.endpoint);
    }
    assert.deepEqual(refs, [1, 2, 3]);
  });

  test("a half-open circuit does not lose a probe while its host has no free slot", async () => {
    const scene = new DispatchScene({ hostConcurrency: 1 });
    const [a, broken] = [scene.endpoint("a"), scene.endpoint("broken", { pace: "unknown" })];
    await scene.publish(a);
    forceOpen(broken.circuit, { now: scene.clock.now(), untilMs: scene.clock.now() + 500 });
    await scene.publish(broken);
    scene.clock.advance(600);
    await scene.clock.turn();
    assert.deepEqual([broken.circuit.phase, broken.circuit.probes.length], ["open", 0]);
    await scene.answer(a);
    assert.deepEqual(scene.inFlight(), ["broken"]);
    assert.equal(scene.flights[0]?.probe !== null, true);
  });

  test("a host is forgotten when it has no requests in flight and no waiters", async () => {
    const scene = new DispatchScene({});
    const [a, b] = [scene.endpoint("a"), scene.endpoint("b")];
    const places = new HostPlaces(1, () => false);
    const host = places.begin(a);
    assert.equal(places.refuses(b), true);
    assert.equal(places.refuses(b), true, "once is enough");
    assert.equal(host.quickLine.size, 1);
    assert.equal(places.size, 1);
    places.end(host, false);
    assert.deepEqual([places.size, b.waitsAt], [0, null]);
  });
});
