import assert from "node:assert/strict";
import { test } from "node:test";
import { deliveryStates, priorities, waitingStates } from "../domain/delivery.ts";
import { failureCategories } from "../domain/classify.ts";
import { orderingGuarantees } from "../domain/webhook.ts";
import {
  categoryCodes,
  decode,
  decodeState,
  orderingCodes,
  originCodes,
  outcomeCodes,
  priorityCodes,
  stateCodes,
  waitingMax,
} from "./column-values.ts";

test("the numbers in existing files keep their meaning", () => {
  assert.deepEqual(priorityCodes.encode, { high: 0, normal: 1, low: 2 });
  assert.deepEqual(stateCodes.encode, {
    pending: 0,
    failed: 1,
    success: 2,
    exhausted: 3,
    skipped: 4,
    cancelled: 5,
  });
  assert.deepEqual(originCodes.encode, { publish: 0, retry: 1, replay: 2, test: 3 });
  assert.deepEqual(outcomeCodes.encode, { accepted: 0, transient: 1, terminal: 2 });
  assert.deepEqual(orderingCodes.encode, { none: 0, per_event_type: 1, strict: 2 });
  assert.deepEqual(categoryCodes.encode, {
    timeout: 0,
    server_error: 1,
    client_error: 2,
    network: 3,
    dns: 4,
    ssl: 5,
    rate_limit: 6,
    payload_too_large: 7,
    redirect: 8,
    protocol: 9,
  });
});

test("every name of the domain has a code", () => {
  assert.deepEqual([...priorityCodes.decode], [...priorities]);
  assert.deepEqual([...stateCodes.decode].sort(), [...deliveryStates].sort());
  assert.deepEqual([...categoryCodes.decode], [...failureCategories]);
  assert.deepEqual([...orderingCodes.decode], [...orderingGuarantees]);
});

test("waiting states have the lowest codes", () => {
  const codes = waitingStates.map((state) => stateCodes.encode[state]);
  assert.deepEqual(codes, [0, waitingMax]);
  assert.equal(codes.length, waitingMax + 1);
});

test("a state that is impossible in its row is an error", () => {
  assert.equal(decodeState(waitingStates, 1), "failed");
  assert.throws(() => decodeState(waitingStates, stateCodes.encode.success), RangeError);
});

test("an unknown code is an error", () => {
  assert.throws(() => decode(stateCodes, 99), RangeError);
});
