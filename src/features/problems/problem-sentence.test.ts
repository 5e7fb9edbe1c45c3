import assert from "node:assert/strict";
import { test } from "node:test";
import { failureCategories } from "../../domain/classify.ts";
import { standard } from "../../domain/profiles/standard.ts";
import { problemSentences } from "./problem-service.ts";
import { newProblem, otherKind, type ProblemKind, withFailure } from "./problem.ts";

const at = Date.UTC(2026, 0, 31, 11, 4);
const live = {
  webhook: { url: "https://receiver.example/hooks?token=secret" },
  policy: standard,
} as unknown as Parameters<typeof problemSentences>[1];

function problem(kind: Partial<ProblemKind>, outcome: "transient" | "terminal") {
  const of = { id: "p", webhookId: "w", tenantId: "a", kind: { ...otherKind, ...kind } };
  const failed = { at, deliveryId: "d", outcome, isDeadLetter: true, isRepeated: false };
  return { ...withFailure(newProblem(of, failed), failed), deliveries: 1_204 };
}

test("a problem is a sentence with what happens automatically and what to do, without secrets of the URL", () => {
  const { title, remedy } = problemSentences(
    problem({ category: "client_error", statusCode: 422 }, "terminal"),
    live,
  );
  assert.equal(
    title,
    "422 Unprocessable Entity from https://receiver.example/hooks since 2026-01-31 11:04 UTC, 1,204 deliveries. " +
      "Not retried: the receiver refuses the payload. Check the response and fix the cause, then retry.",
  );
  assert.ok(title.endsWith(remedy));
  const away = problemSentences(
    problem({ category: "network", errorCode: "ECONNREFUSED" }, "transient"),
    live,
  );
  assert.match(away.title, /^No connection.*\(ECONNREFUSED\).* Retried according to the webhook's schedule/);
});

test("every category has its own sentence, with and without a status, known webhook or not", () => {
  const seen = new Set<string>();
  for (const category of failureCategories) {
    for (const statusCode of [null, 599]) {
      const { title, remedy } = problemSentences(problem({ category, statusCode }, "transient"), undefined);
      assert.doesNotMatch(title, /undefined|null|\s\s/, title);
      if (statusCode === null) seen.add(remedy);
    }
  }
  assert.equal(seen.size, failureCategories.length);
  assert.match(problemSentences(problem({}, "transient"), live).title, /^Failures of many kinds from/);
});
