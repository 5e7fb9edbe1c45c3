// Rows of the source documents beside the tests that prove them, or the reason why none does.

import { type Reason, reasons } from "../../test/requirements/reasons.ts";
import type { RequirementRow } from "../../test/requirements/row.ts";
import { documents, isOutsideOfThisPage } from "./documents.ts";
import { type NamedTest, namedTests } from "./named-tests.ts";

export interface Finding {
  readonly row: RequirementRow;
  readonly tests: readonly NamedTest[];
  readonly reason: Reason | undefined;
}

export interface Findings {
  /** By the code of the document, in the order of the document. */
  readonly byDocument: ReadonlyMap<string, readonly Finding[]>;
  /** What must be repaired; rows that nobody has proved come last. */
  readonly problems: readonly string[];
}

export function findEverything(): Findings {
  const tests = namedTests();
  const testsById = Map.groupBy(
    tests.flatMap((test) => test.ids.map((id) => ({ id, test }))),
    ({ id }) => id,
  );
  const reasonsById = new Map(reasons.flatMap((reason) => reason.ids.map((id) => [id, reason] as const)));
  const findingOf = (row: RequirementRow): Finding => ({
    row,
    tests: testsById.get(row.id)?.map(({ test }) => test) ?? [],
    reason: reasonsById.get(row.id),
  });
  const byDocument = new Map(documents.map(({ code, rows }) => [code, rows.map(findingOf)] as const));
  const all = [...byDocument.values()].flat();
  return {
    byDocument,
    problems: [
      ...problemsOfNames({ tests, all }),
      ...problemsOfReasons(all),
      ...contradictions(all),
      ...openRows(byDocument),
    ],
  };
}

function problemsOfNames({
  tests,
  all,
}: {
  readonly tests: readonly NamedTest[];
  readonly all: readonly Finding[];
}): string[] {
  const known = new Set(all.map(({ row }) => row.id));
  return tests.flatMap(({ ids, path, line }) =>
    ids
      .filter((id) => !known.has(id) && !isOutsideOfThisPage(id))
      .map((id) => `${path}:${line}: ${id} is no requirement of the source documents`),
  );
}

function problemsOfReasons(all: readonly Finding[]): string[] {
  const known = new Set(all.map(({ row }) => row.id));
  const given = reasons.flatMap(({ ids }) => ids);
  const repeated = given.filter((id, index) => given.indexOf(id) !== index);
  return [
    ...given.filter((id) => !known.has(id)).map((id) => `reasons.ts: ${id} is no row of this page`),
    ...repeated.map((id) => `reasons.ts: ${id} has two reasons`),
  ];
}

function contradictions(all: readonly Finding[]): string[] {
  return all
    .filter(({ tests, reason }) => tests.length > 0 && reason !== undefined)
    .map(({ row, tests: [test] }) => {
      const place = test === undefined ? "" : ` (${test.path}:${test.line})`;
      return `${row.id} has a reason why no test proves it, and a test${place}; one of them is wrong`;
    });
}

function openRows(byDocument: Findings["byDocument"]): string[] {
  return [...byDocument].flatMap(([code, findings]) => {
    const open = findings.filter(({ tests, reason }) => tests.length === 0 && reason === undefined);
    if (open.length === 0) return [];
    const lines = open.map(({ row }) => `  ${row.id} (${row.role}, ${row.level}): ${row.text}`);
    return [`${code}: ${open.length} rows with neither a test nor a reason\n${lines.join("\n")}`];
  });
}
