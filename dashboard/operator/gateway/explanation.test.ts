import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { gatewayOutcomes } from "../../../src/features/gateway/relayed.ts";
import { rejectionCauses } from "../../../src/receiver/message/message.ts";
import { explanationOf, mayBeRetried } from "./explanation.ts";

const request = { outcome: "rejected", status: 401, scheme: null, event_id: null } as const;

suite("explanations of gateway requests", () => {
  test("every rejection cause of the kit and the gateway has its own sentence and a remedy", () => {
    const own = [
      "source_inactive",
      "method_not_allowed",
      "payload_too_large",
      "empty_body",
      "loop",
      "idempotency_key_malformed",
      "rate_limited",
      "no_handshake",
    ];
    const all = [...rejectionCauses, ...own].map((cause) =>
      explanationOf({ ...request, rejection_cause: cause }),
    );
    assert.equal(new Set(all.map(({ sentence }) => sentence)).size, all.length);
    for (const { sentence, remedy } of all) assert.ok(remedy !== null, sentence);
  });

  test("every outcome has a sentence, and messages of unverified sources are not called authentic", () => {
    for (const outcome of gatewayOutcomes)
      assert.match(explanationOf({ ...request, outcome, rejection_cause: null }).sentence, /^[A-Z].*\.$/);
    const taken = { ...request, outcome: "accepted", status: 202, rejection_cause: null } as const;
    assert.match(explanationOf({ ...taken, scheme: "github" }).sentence, /authentic/);
    assert.doesNotMatch(explanationOf({ ...taken, scheme: "none" }).sentence, /authentic/);
    const reused = explanationOf({ ...request, status: 422, rejection_cause: null });
    assert.match(reused.sentence, /another body/);
  });

  test("requests without an event can be retried if they may succeed now", () => {
    assert.equal(mayBeRetried(request), true);
    assert.equal(mayBeRetried({ ...request, status: 413 }), false);
    assert.equal(mayBeRetried({ ...request, outcome: "failed", status: 503 }), true);
    assert.equal(mayBeRetried({ ...request, outcome: "accepted", status: 202, event_id: "e" }), false);
  });
});
