// Functions of the same shape: alike but for names, strings and numbers. A place to look, not a verdict.

import ts from "@typescript/typescript6";
import { locate, type SourceFile } from "../source-files.ts";
import { type FoundFunction, functionsOf } from "../tidy/functions.ts";
import type { Figure } from "./figure.ts";

/** Shorter ones are alike by chance. */
const linesMin = 5;

export function repeatedShapes(files: readonly SourceFile[]): Figure[] {
  const functions = files.flatMap(functionsOf).filter(({ lines }) => lines >= linesMin);
  const groups = Object.values(Object.groupBy(functions, shapeOf)).filter(
    (group): group is FoundFunction[] => group !== undefined && group.length > 1,
  );
  const sorted = groups.toSorted((left, right) => repeatedLines(right) - repeatedLines(left));
  const lines = groups.reduce((total, group) => total + repeatedLines(group), 0);
  return [
    { name: `shapes of functions of ${linesMin} lines or more that repeat`, value: groups.length },
    {
      name: "functions that repeat an earlier one's shape",
      value: groups.reduce((total, group) => total + group.length - 1, 0),
      found: sorted.map((group) => group.map(({ file, node }) => locate(file, node)).join(" ~ ")),
    },
    { name: "lines in them", value: lines },
  ];
}

/** The kinds of all nodes in order, with the depth at which they stand. */
function shapeOf({ node }: FoundFunction): string {
  const kinds: string[] = [];
  const visit = (each: ts.Node, depth: number): void => {
    kinds.push(`${depth}:${isName(each) ? "name" : each.kind}`);
    each.forEachChild((child) => visit(child, depth + 1));
  };
  for (const part of [...node.parameters, node.body]) if (part !== undefined) visit(part, 0);
  return kinds.join(" ");
}

function isName(node: ts.Node): boolean {
  return ts.isIdentifier(node) || ts.isPrivateIdentifier(node) || ts.isLiteralExpression(node);
}

function repeatedLines(group: readonly FoundFunction[]): number {
  return group.slice(1).reduce((total, { lines }) => total + lines, 0);
}
