import assert from "node:assert/strict";
import { test } from "node:test";
import type { Attempt } from "../../shared/resources.ts";
import { differencesBetween, hasDetails } from "./wording.ts";

const accepted = {
  attempt_number: 1,
  executed_at: "2026-11-24T10:00:00.000Z",
  duration_ms: 12,
  outcome: "accepted",
  http_status_code: 200,
  failure_category: null,
  error_message: null,
  retry_after: null,
  peer_address: "192.0.2.1",
  http_version: "1.1",
  timings_ms: null,
  config_revision: 3,
  response_headers: [],
  response_body_sample: "ok",
} as Partial<Attempt> as Attempt;

test("differing fields are listed in display order", () => {
  const failed: Attempt = {
    ...accepted,
    executed_at: "2026-11-24T11:00:00.000Z",
    outcome: "transient",
    http_status_code: 503,
    failure_category: "server_error",
    retry_after: { value: "30", effect: "lower_bound" },
    response_headers: [
      { name: "Via", value: "a" },
      { name: "via", value: "b" },
    ],
  };
  assert.deepEqual(
    differencesBetween(failed, accepted).map(({ name, one, other }) => [name, one, other]),
    [
      ["Sent", "2026-11-24T11:00:00.000Z", "2026-11-24T10:00:00.000Z"],
      ["Status", "503", "200"],
      ["Outcome", "transient: server error", "accepted"],
      ["Retry-After", "30", null],
      ["Header via", "a, b", null],
    ],
  );
});

test("a detail stored for only one attempt is not a difference", () => {
  const bare: Attempt = {
    ...accepted,
    peer_address: null,
    http_version: null,
    config_revision: null,
    response_headers: null,
  };
  assert.deepEqual(differencesBetween(accepted, bare), []);
  assert.deepEqual([hasDetails(accepted), hasDetails(bare)], [true, false]);
});

test("an attempt does not differ from itself", () => {
  assert.deepEqual(differencesBetween(accepted, accepted), []);
});

test("an attempt without a response says so", () => {
  const unanswered: Attempt = { ...accepted, http_status_code: null, response_body_sample: null };
  assert.deepEqual(
    differencesBetween(unanswered, accepted).map(({ name, one }) => [name, one]),
    [
      ["Status", "no response"],
      ["Response body", null],
    ],
  );
});
