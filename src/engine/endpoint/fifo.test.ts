import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Fifo } from "./ready-lists.ts";

test("behaves like an array under any mix of operations", () => {
  const operation = fc.oneof(
    fc.record({ kind: fc.constant("push" as const), value: fc.integer() }),
    fc.record({ kind: fc.constant("unshift" as const), value: fc.integer() }),
    fc.record({ kind: fc.constant("shift" as const) }),
    fc.record({ kind: fc.constant("drain" as const) }),
  );
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
      const fifo = new Fifo<number>();
      const model: number[] = [];
      for (const step of operations) {
        if (step.kind === "push") {
          fifo.push(step.value);
          model.push(step.value);
        } else if (step.kind === "unshift") {
          fifo.unshift(step.value);
          model.unshift(step.value);
        } else if (step.kind === "shift") assert.equal(fifo.shift(), model.shift());
        else assert.deepEqual(fifo.drain(), model.splice(0));
        assert.equal(fifo.length, model.length);
        assert.equal(fifo.peek(), model[0]);
      }
    }),
  );
});
