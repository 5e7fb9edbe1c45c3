// Rules about functions: length.

import ts from "@typescript/typescript6";
import type { CheckResult } from "../check.ts";
import { locate, type SourceFile, sourceFiles, walk } from "../source-files.ts";
import { allowedFunctionLines, withoutAllowed } from "./allowed.ts";
import { distribution } from "./distribution.ts";

/** Functions that put parts together list one part per line. */
const functionLinesMax = 110;

export interface FoundFunction {
  readonly key: string;
  readonly name: string;
  readonly file: SourceFile;
  readonly node: ts.FunctionLikeDeclaration;
  readonly lines: number;
}

export function functionLengths(): CheckResult {
  const functions = productionFunctions();
  const problems = new Map<string, string>();
  const grown: string[] = [];
  for (const { key, name, file, node, lines } of functions) {
    if (lines <= functionLinesMax) continue;
    problems.set(key, `${locate(file, node)}: ${name} has ${lines} lines, at most ${functionLinesMax}`);
    const allowed = allowedFunctionLines[key];
    if (allowed !== undefined && lines > allowed)
      grown.push(`${locate(file, node)}: ${name} grew from ${allowed} to ${lines}`);
  }
  const inSource = functions.filter(({ file }) => file.path.startsWith("src/")).map(({ lines }) => lines);
  return {
    problems: [...withoutAllowed(problems, allowedFunctionLines), ...grown],
    note: `${inSource.length} functions in src: ${distribution(inSource, 10, 30)}`,
  };
}

/** Named functions and methods, and anonymous ones that do not lie inside another function. */
export function functionsOf(file: SourceFile): FoundFunction[] {
  const found: FoundFunction[] = [];
  walk(file.tree, (node) => {
    if (!isFunctionWithBody(node)) return;
    const name = nameOf(node);
    if (name === undefined) return;
    const from = file.tree.getLineAndCharacterOfPosition(node.getStart(file.tree)).line;
    const to = file.tree.getLineAndCharacterOfPosition(node.getEnd()).line;
    found.push({ key: `${file.path}#${name}`, name, file, node, lines: to - from + 1 });
  });
  return found;
}

function productionFunctions(): FoundFunction[] {
  return sourceFiles()
    .filter(({ isTest }) => !isTest)
    .flatMap(functionsOf);
}

function isFunctionWithBody(node: ts.Node): node is ts.FunctionLikeDeclaration {
  const isFunction =
    ts.isFunctionDeclaration(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isConstructorDeclaration(node) ||
    ts.isAccessor(node) ||
    ts.isFunctionExpression(node) ||
    ts.isArrowFunction(node);
  return isFunction && node.body !== undefined;
}

function nameOf(node: ts.FunctionLikeDeclaration): string | undefined {
  const owner = ts.isClassLike(node.parent) ? `${node.parent.name?.text ?? "class"}.` : "";
  if (ts.isConstructorDeclaration(node)) return `${owner}constructor`;
  if (node.name !== undefined) return `${owner}${node.name.getText()}`;
  const { parent } = node;
  const isNamedByParent =
    ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent);
  return isNamedByParent ? parent.name.getText() : undefined;
}
