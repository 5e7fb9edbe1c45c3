// Rows of the source documents, and the state of each: what the tests prove, what they do not, and why.

import { type PartOfRow, partly } from "../../test/requirements/partly.ts";
import { type Reason, reasonKinds, reasons } from "../../test/requirements/reasons.ts";
import type { RequirementRow } from "../../test/requirements/row.ts";
import { documents } from "./documents.ts";
import { type NamedTest, namedTests } from "./named-tests.ts";

export type RowState = "proved" | "otherwise" | "partly" | "not-built";

export interface Finding {
  readonly row: RequirementRow;
  readonly tests: readonly NamedTest[];
  readonly reason: Reason | undefined;
  /** What is missing from a row that tests prove in part. */
  readonly part: PartOfRow | undefined;
  /** Undefined when nothing is said about the row, which is a problem. */
  readonly state: RowState | undefined;
}

export interface Findings {
  /** By the code of the document, in the order of the document. */
  readonly byDocument: ReadonlyMap<string, readonly Finding[]>;
  /** What must be repaired; rows without a state come last. */
  readonly problems: readonly string[];
}

export function findEverything(): Findings {
  const tests = namedTests();
  const testsById = Map.groupBy(
    tests.flatMap((test) => test.ids.map((id) => ({ id, test }))),
    ({ id }) => id,
  );
  const reasonsById = new Map(reasons.flatMap((reason) => reason.ids.map((id) => [id, reason] as const)));
  const partsById = new Map(partly.flatMap((part) => part.ids.map((id) => [id, part] as const)));
  const findingOf = (row: RequirementRow): Finding => {
    const said = {
      tests: testsById.get(row.id)?.map(({ test }) => test) ?? [],
      reason: reasonsById.get(row.id),
      part: partsById.get(row.id),
    };
    return { row, ...said, state: stateOf(said) };
  };
  const byDocument = new Map(documents.map(({ code, rows }) => [code, rows.map(findingOf)] as const));
  const all = [...byDocument.values()].flat();
  return {
    byDocument,
    problems: [
      ...problemsOfNames(tests, all),
      ...problemsOfSentences(all),
      ...contradictions(all),
      ...openRows(byDocument),
    ],
  };
}

function stateOf({ tests, reason, part }: Pick<Finding, "tests" | "reason" | "part">): RowState | undefined {
  if (part !== undefined) return "partly";
  if (reason !== undefined) return reasonKinds[reason.kind].state;
  return tests.length > 0 ? "proved" : undefined;
}

function problemsOfNames(tests: readonly NamedTest[], all: readonly Finding[]): string[] {
  const known = new Set(all.map(({ row }) => row.id));
  return tests.flatMap(({ ids, path, line }) =>
    ids
      .filter((id) => !known.has(id))
      .map((id) => `${path}:${line}: ${id} is no requirement of the source documents`),
  );
}

function problemsOfSentences(all: readonly Finding[]): string[] {
  const known = new Set(all.map(({ row }) => row.id));
  const given = [...reasons, ...partly].flatMap(({ ids }) => ids);
  const repeated = given.filter((id, index) => given.indexOf(id) !== index);
  return [
    ...given
      .filter((id) => !known.has(id))
      .map((id) => `test/requirements: ${id} is no row of the source documents`),
    ...repeated.map((id) => `test/requirements: ${id} has two sentences in reasons.ts and partly.ts`),
  ];
}

function contradictions(all: readonly Finding[]): string[] {
  return all.flatMap(({ row, tests: [test], reason, part }) => {
    if (reason !== undefined && test !== undefined)
      return [
        `${row.id} has a reason why no test proves it, and a test (${test.path}:${test.line}); one of them is wrong`,
      ];
    if (part !== undefined && test === undefined)
      return [`${row.id} is said to be proved in part, and no test names it`];
    return [];
  });
}

function openRows(byDocument: Findings["byDocument"]): string[] {
  return [...byDocument].flatMap(([code, findings]) => {
    const open = findings.filter(({ state }) => state === undefined);
    if (open.length === 0) return [];
    const lines = open.map(({ row }) => `  ${row.id} (${row.role}, ${row.level}): ${row.text}`);
    return [`${code}: ${open.length} rows with neither a test nor a reason\n${lines.join("\n")}`];
  });
}
