/** docs/api.md names every exception to its statements about all routes. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { apiDocument } from "../../scripts/client-types.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/api.md"), "utf8");

interface Operation {
  readonly security?: readonly object[];
  readonly parameters?: readonly { readonly name?: string }[];
}

const operations = Object.entries(
  apiDocument().paths as unknown as Readonly<Record<string, Readonly<Record<string, Operation>>>>,
).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

test("api.md lists every route under /v1 that needs no key", () => {
  const sentence = /- Everything under `\/v1` requires[^\n]*/.exec(page)?.[0] ?? "";
  const open = operations.filter(
    ({ path, operation }) => path.startsWith("/v1") && operation.security?.length === 0,
  );
  const named = [...sentence.matchAll(/`(?:GET|POST) (\/v1[^`]*)`/g)].map(([, path = ""]) => path);
  assert.deepEqual(named.toSorted(), [...new Set(open.map(({ path }) => path))].toSorted());
});

test("api.md lists every POST that does not accept Idempotency-Key", () => {
  const sentence = /Every POST takes an `Idempotency-Key` header, except[^\n]*?\)\. /.exec(page)?.[0] ?? "";
  const without = operations
    .filter(({ method, operation }) => {
      const names = (operation.parameters ?? []).map((parameter) => JSON.stringify(parameter));
      return method === "POST" && !names.some((name) => name.includes("Idempotency-Key"));
    })
    .map(({ path }) => path);
  const named = [...sentence.matchAll(/`POST ([^`]+)`/g)].map(([, path = ""]) => path);
  assert.deepEqual(named.toSorted(), without.toSorted());
});
