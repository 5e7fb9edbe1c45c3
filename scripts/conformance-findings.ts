// The requirements of the source documents and the state of each one: which tests prove it, or why it is not tested.

import ts from "@typescript/typescript6";
import { cewRows } from "../test/requirements/cew.ts";
import { edsRows } from "../test/requirements/eds.ts";
import { idkRows } from "../test/requirements/idk.ts";
import { partly, type PartOfRow } from "../test/requirements/partly.ts";
import { type Reason, reasonKinds, reasons } from "../test/requirements/reasons.ts";
import type { RequirementRow } from "../test/requirements/row.ts";
import { ts16Rows } from "../test/requirements/ts16.ts";
import { wdsApiRows } from "../test/requirements/wds-api.ts";
import { wdsOperationRows } from "../test/requirements/wds-operation.ts";
import { wdsServiceRows } from "../test/requirements/wds-services.ts";
import { wdsRows } from "../test/requirements/wds.ts";
import { type SourceFile, sourceFiles, walk } from "./source-files.ts";

export type RowState = "proved" | "otherwise" | "partly" | "not-built";

export interface Finding {
  readonly row: RequirementRow;
  readonly tests: readonly NamedTest[];
  readonly reason: Reason | undefined;
  /** What is still unproved in a row that tests prove only in part. */
  readonly part: PartOfRow | undefined;
  /** Undefined if the row has neither a test nor a reason, which is a problem. */
  readonly state: RowState | undefined;
}

export interface Findings {
  /** Indexed by the code of the document, in the order of the document. */
  readonly byDocument: ReadonlyMap<string, readonly Finding[]>;
  /** Rows without a state come last. */
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
      .map((id) => `${path}:${line}: ${id} is not a requirement of the source documents`),
  );
}

function problemsOfSentences(all: readonly Finding[]): string[] {
  const known = new Set(all.map(({ row }) => row.id));
  const given = [...reasons, ...partly].flatMap(({ ids }) => ids);
  const repeated = given.filter((id, index) => given.indexOf(id) !== index);
  return [
    ...given
      .filter((id) => !known.has(id))
      .map((id) => `test/requirements: ${id} is not a row of the source documents`),
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
      return [`${row.id} is listed as partly proved, and no test names it`];
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

export interface SourceDocument {
  readonly code: string;
  readonly title: string;
  readonly note: string;
  readonly rows: readonly RequirementRow[];
}

export const documents: readonly SourceDocument[] = [
  {
    code: "EDS",
    title: "Event Delivery Semantics",
    note: "Internet-Draft draft-mayankpanke-event-delivery-semantics-01.",
    rows: edsRows,
  },
  {
    code: "TS16",
    title: "TS-16a: Webhooks",
    note: "A technical standard; an extended subset of Standard Webhooks.",
    rows: ts16Rows,
  },
  {
    code: "IDK",
    title: "The Idempotency-Key HTTP Header Field",
    note: "Internet-Draft draft-ietf-httpapi-idempotency-key-header-06.",
    rows: idkRows,
  },
  {
    code: "CEW",
    title: "CloudEvents: HTTP 1.1 Web Hooks for Event Delivery",
    note: "Version 1.0.3-wip.",
    rows: cewRows,
  },
  {
    code: "WDS",
    title: "Webhook Delivery System with Retries",
    note: "A design, every sentence of which is a row.",
    rows: [...wdsServiceRows, ...wdsApiRows, ...wdsRows, ...wdsOperationRows].toSorted(
      (a, b) => numberOf(a) - numberOf(b),
    ),
  },
];

/** The rows of the design document (WDS) are numbered. */
function numberOf({ id }: RequirementRow): number {
  return Number(id.slice("WDS-".length));
}

/** A test whose name contains the requirements that it proves. */
export interface NamedTest {
  /** Parts that are known only at run time are shown as `…`. */
  readonly name: string;
  readonly ids: readonly string[];
  /** Path relative to the project. */
  readonly path: string;
  readonly line: number;
}

const idPattern = /\b(?:EDS|TS16|IDK|CEW|WDS)-[\w.]+(?:-\d+)?(?![\w-])/g;
const leadingIds = /^(?:(?:EDS|TS16|IDK|CEW|WDS)-[\w.-]+(?: |$))+/;
/** Longer names of cases are truncated. */
const caseNameMax = 120;
const testFunctions = new Set(["test", "t.test", "it", "check"]);

/** Sorted by file and line. */
function namedTests(): readonly NamedTest[] {
  return sourceFiles()
    .filter(({ path, isTest }) => isTest && !path.startsWith("test/requirements/"))
    .flatMap(testsIn);
}

function testsIn(file: SourceFile): NamedTest[] {
  const found: NamedTest[] = [];
  walk(file.tree, (node) => {
    const text = textOf(node);
    if (text === undefined) return;
    if (!isFirstArgumentOfTest(node, file) && !(isInTableOfCases(node) && leadingIds.test(text))) return;
    const ids = text.match(idPattern) ?? [];
    if (ids.length === 0) return;
    const { line } = file.tree.getLineAndCharacterOfPosition(node.getStart(file.tree));
    found.push({
      name: nameOf(node, text, file),
      ids: [...new Set(ids)],
      path: file.path,
      line: line + 1,
    });
  });
  return found;
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join("");
}

/**
 * Whether the string may be the name of a case in a table. Such a name begins with its requirements, or one field of
 * the case contains only the requirements.
 */
function isInTableOfCases({ parent }: ts.Node): boolean {
  return ts.isPropertyAssignment(parent) || ts.isArrayLiteralExpression(parent);
}

function nameOf(node: ts.Node, text: string, file: SourceFile): string {
  const isOnlyIds = text.replace(leadingIds, "") === "";
  const { parent } = node;
  if (!isOnlyIds || !ts.isPropertyAssignment(parent)) return text;
  const others = parent.parent.properties.filter((property) => property !== parent);
  const words = others.map((property) => property.getText(file.tree).replaceAll(/\s+/g, " "));
  return `case ${words.join(", ")}`.slice(0, caseNameMax);
}

function isFirstArgumentOfTest(node: ts.Node, file: SourceFile): boolean {
  const call = node.parent;
  if (!ts.isCallExpression(call) || call.arguments[0] !== node) return false;
  return testFunctions.has(call.expression.getText(file.tree));
}
