import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ModelGateway } from "../../../test/simulation/model-store/gateway.ts";
import { compileFilter, notKept } from "../../domain/filter.ts";
import type { ReceivedRequest } from "../../ports/store/gateway.ts";
import { FilterEvaluations, loggedMessage } from "./filter-evaluation.ts";
import type { Source } from "./source.ts";

const everybody = { tenantId: null };
const sourceId = "0198c3f2-7a4e-7c11-9d3e-5b0a6f1e2d3c";

function requestOf(n: number): ReceivedRequest {
  return {
    id: `0198c3f2-7a4e-7c11-9d3e-${String(n).padStart(12, "0")}`,
    tenantId: "t",
    sourceId,
    receivedAt: n,
    method: "POST",
    path: "/in/…/orders",
    headers: [],
    bodyBytes: 7,
    status: 202,
    outcome: "ignored",
    cause: null,
    detail: null,
    durationMs: 1,
    scheme: "none",
    eventType: null,
    originalType: null,
    eventId: null,
    forwards: [],
    sealedHeaders: null,
    bookmark: null,
    body: Buffer.from(`{"n":${n}}`),
    more: 0,
  };
}

/**
 * Filter evaluations over a log of `count` requests. The clock advances by `stepMs` with each reading, and writing the
 * log takes `flushMs`.
 */
async function evaluationsAt(stepMs: number, count: number, flushMs = 0) {
  const store = new ModelGateway();
  await store.addRequests(Array.from({ length: count }, (_, n) => requestOf(n)));
  const turns = { taken: 0 };
  let ms = 0;
  const clock = {
    now: () => 0,
    monotonicMs: () => (ms += stepMs),
    schedule: () => ({ cancel: () => undefined }),
    defer: (callback: () => void) => {
      turns.taken += 1;
      queueMicrotask(callback);
    },
  };
  const log = {
    flush: async () => {
      ms += flushMs;
    },
  };
  const evaluations = new FilterEvaluations({
    store,
    clock,
    history: { getEvent: async () => null },
    log,
    directory: { source: () => ({ id: sourceId, tenantId: "t" }) as Source },
    box: { verifier: () => ({ secretParameters: [] }) as never },
    requests: { get: () => assert.fail("nobody asks for one") },
  });
  return { evaluations, turns };
}

suite("filters over many requests", () => {
  test("a run ends after its time, says how far it came, and lets others run", async () => {
    const { evaluations, turns } = await evaluationsAt(10, 500);
    const found = await evaluations.evaluate(everybody, { filter: { body: { n: 1 } }, sourceId, last: 500 });
    assert.ok(found.kind === "requests" && !found.isComplete);
    const looked = found.matched.count + found.notMatched.count;
    assert.ok(looked > 0 && looked <= 25, String(looked));
    assert.equal(found.searchedTo, 500 - looked);
    assert.equal(turns.taken, looked);
  });

  test("flushing the log first uses none of the time of a run", async () => {
    const { evaluations } = await evaluationsAt(0, 3, 10_000);
    const found = await evaluations.evaluate(everybody, { filter: {}, sourceId });
    assert.ok(found.kind === "requests" && found.isComplete);
    assert.equal(found.matched.count, 3);
  });

  test("the first request is evaluated, however slow it is", async () => {
    const { evaluations } = await evaluationsAt(1_000, 3);
    const found = await evaluations.evaluate(everybody, { filter: {}, sourceId });
    assert.ok(found.kind === "requests" && !found.isComplete);
    assert.equal(found.matched.count, 1);
  });

  test("a run over all or the requested number of requests is complete; pages of the store join without a gap", async () => {
    const { evaluations } = await evaluationsAt(0, 250);
    for (const [last, looked] of [
      [240, 240],
      [250, 250],
      [1_000, 250],
    ] as const) {
      const filter = { body: { n: { $gte: 245 } } };
      const found = await evaluations.evaluate(everybody, { filter, sourceId, last });
      assert.ok(found.kind === "requests" && found.isComplete);
      assert.deepEqual([found.matched.count, found.notMatched.count], [5, looked - 5]);
      assert.equal(found.searchedTo, 250 - looked);
    }
  });
});

suite("values of logged requests that filters see", () => {
  const see = (path: string, secretParameters: readonly string[] | null, filter: object) => {
    const message = loggedMessage({ headers: [], path }, notKept, secretParameters);
    return compileFilter(filter).examine(message);
  };

  test("path and query come after the address, as when the message arrived", () => {
    const rule = { path: "/orders/1", query: { a: "b c" } };
    assert.equal(see("/in/…/orders/1?a=b+c", [], rule), null);
    assert.equal(see("/_webhooks/shop/orders/1?a=b+c", [], rule), null);
    assert.equal(see("/in/…?a=/b", [], { path: "", query: { a: "/b" } }), null);
  });

  test("masked and omitted parameters, and those of a removed verification, are unknown", () => {
    assert.equal(see("/in/…?token=***&a=1", [], { query: { token: "x" } }), undefined);
    assert.equal(see("/in/…?token=***&a=1", [], { query: { token: { $exist: true } } }), null);
    assert.equal(see("/in/…?a=1", ["k"], { query: { k: { $exist: false } } }), undefined);
    assert.equal(see("/in/…?a=1", ["k"], { query: { a: "1" } }), null);
    assert.equal(see("/in/…?a=1", null, { query: { a: "1" } }), undefined);
    assert.equal(see("/in/…/a;token=***", [], { path: { $startsWith: "/a" } }), undefined);
  });
});
