import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DuplicateEventError,
  type ErrorCode,
  errorTable,
  InvalidRequestError,
  PosthornError,
  UnavailableError,
} from "../domain/errors.ts";
import { StoreUnavailableError } from "../ports/store.ts";
import { createErrorsPage } from "./docs/pages.ts";
import { knownError, MethodNotAllowedError, problemOf, renderProblem } from "./problems.ts";

test("every code gives a problem with an explanatory page", () => {
  const page = createErrorsPage();
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const problem = problemOf(new PosthornError(code, "why"), "");
    assert.equal(problem.status, errorTable[code].status);
    assert.equal(problem.title, errorTable[code].title);
    assert.equal(problem.detail, "why");
    const anchor = problem.type.split("#")[1];
    if (anchor === undefined) assert.equal(problem.type, "/docs/idempotency");
    else assert.ok(page.includes(`id="${anchor}"`), code);
  }
});

test("fields are bounded, and absent when there are none", () => {
  const fields = Array.from({ length: 80 }, (_, index) => ({ field: `f${index}`, message: "is bad" }));
  assert.equal(problemOf(new InvalidRequestError("bad", fields), "").errors?.length, 50);
  assert.ok(!("errors" in problemOf(new InvalidRequestError("bad", []), "")));
});

test("headers that belong to an error", () => {
  assert.equal(renderProblem(new UnavailableError("later"), "").headers["retry-after"], "1");
  assert.equal(renderProblem(new MethodNotAllowedError(["GET", "PUT"]), "").headers["allow"], "GET, PUT");
  assert.match(
    renderProblem(new PosthornError("idempotency_key_reused", "x"), "").headers["link"] ?? "",
    /describedby/,
  );
});

test("a reused event key names the first event", () => {
  const error = new DuplicateEventError("0198c3f2", "event_key_reused", "x");
  assert.equal(problemOf(error, "").event_id, "0198c3f2");
});

test("only what is known is included", () => {
  assert.equal(knownError(new StoreUnavailableError("disk full"))?.code, "unavailable");
  assert.equal(knownError(new Error("boom")), null);
  assert.equal(knownError("boom"), null);
  assert.equal(knownError(Object.assign(new Error("x"), { code: "ECONNRESET" })), null);
});
