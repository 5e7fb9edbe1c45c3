// The path of an event in ARCHITECTURE.md, step by step: each function is where the page says, and one of those before it
// calls it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "@typescript/typescript6";
import type { CheckResult } from "../check.ts";
import { projectRoot, sourceFiles, walk } from "../source-files.ts";

const page = "ARCHITECTURE.md";
const stepsMax = 25;
const row = /^\| \d+ \| \[`(?<path>[^`]+)`\]\([^)]+\) \| `(?<name>[#\w]+)` \|/gm;

export function eventPath(): CheckResult {
  const text = readFileSync(join(projectRoot, page), "utf8");
  const steps = [...text.matchAll(row)].map(({ groups = {} }) => ({
    path: `src/${groups["path"]}`,
    name: groups["name"] ?? "",
  }));
  const problems: string[] = [];
  if (steps.length === 0 || steps.length > stepsMax)
    problems.push(`${page}: the path of an event has ${steps.length} steps, not 1 to ${stepsMax}`);
  const called = new Set<string>();
  for (const [index, step] of steps.entries()) {
    const body = bodyOf(step.path, step.name);
    if (body === null) problems.push(`${page}: there is no ${step.name} in ${step.path}`);
    else if (index > 0 && !called.has(step.name))
      problems.push(`${page}: nothing before ${step.name} (${step.path}) leads to it`);
    for (const name of body === null ? [] : namesIn(body)) called.add(name);
  }
  return { problems, note: `${steps.length} steps` };
}

function bodyOf(path: string, name: string): ts.Node | null {
  const file = sourceFiles().find((each) => each.path === path);
  let found: ts.Node | null = null;
  if (file === undefined) return found;
  walk(file.tree, (node) => {
    const isNamed =
      (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isPropertyDeclaration(node)) &&
      node.name?.getText() === name;
    if (isNamed) found ??= node;
  });
  return found;
}

/** What a function calls or hands on. */
function namesIn(body: ts.Node): ReadonlySet<string> {
  const names = new Set<string>();
  walk(body, (node) => {
    if (ts.isPropertyAccessExpression(node)) names.add(node.name.getText());
    else if (ts.isCallExpression(node)) names.add(node.expression.getText());
  });
  return names;
}
