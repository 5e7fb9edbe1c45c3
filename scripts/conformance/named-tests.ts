// Tests that say in their name which requirement they prove.

import ts from "@typescript/typescript6";
import { type SourceFile, sourceFiles, walk } from "../source-files.ts";

export interface NamedTest {
  /** As written; a part that is only known at run time is shown as `…`. */
  readonly name: string;
  readonly ids: readonly string[];
  /** Relative to the project. */
  readonly path: string;
  readonly line: number;
}

const idPattern = /\b(?:EDS|TS16|IDK|CEW|WDS)-[\w.]+(?:-\d+)?(?![\w-])/g;
const leadingIds = /^(?:(?:EDS|TS16|IDK|CEW|WDS)-[\w.-]+(?: |$))+/;
/** A long case is cut off; its ids lead to the whole. */
const caseNameMax = 120;
const testFunctions = new Set(["test", "t.test", "it", "check"]);

/** In the order of files and lines. */
export function namedTests(): readonly NamedTest[] {
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

/** In a table a name begins with its requirements, or they stand alone in a field beside what the case is about. */
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
