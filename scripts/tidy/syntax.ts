// Rules about what source says: hidden inputs, imports, exports, documentation, marks in tests.

import { isBuiltin } from "node:module";
import ts from "@typescript/typescript6";
import type { CheckResult } from "../check.ts";
import { locate, type SourceFile, sourceFiles, walk } from "../source-files.ts";

/** Parts that must behave the same for the same inputs, so that simulation and tests can drive time and chance. */
const deterministicParts = /^src\/(domain|ports|engine|features|resources|http)\//;

const bannedMembers: Readonly<Record<string, string>> = {
  "Date.now": "take the time from the clock port",
  "performance.now": "take durations from the clock port",
  "Math.random": "take chance from the random port",
  "Temporal.Now": "take the time from the clock port",
};
/** A map, because a function may be called as a method of every object is: `valueOf`. */
const bannedFunctions: ReadonlyMap<string, string> = new Map([
  ["setTimeout", "wait through the clock port"],
  ["setInterval", "wait through the clock port"],
]);
const bannedModules = new Set(["node:timers", "node:timers/promises", "timers", "timers/promises"]);

export function hiddenInputs(): CheckResult {
  const files = sourceFiles().filter(({ path, isTest }) => deterministicParts.test(path) && !isTest);
  return { problems: files.flatMap((file) => collect(file, hiddenInput)) };
}

function hiddenInput(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node)) {
    const text = node.getText().replace(/^globalThis\./, "");
    const advice = bannedMembers[text];
    if (advice !== undefined) return `${text} is a hidden input; ${advice}`;
    const method = text.startsWith("globalThis.") ? undefined : bannedFunctions.get(text);
    return method === undefined ? undefined : `${text} is a hidden input; ${method}`;
  }
  if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
    const advice = bannedFunctions.get(node.expression.text);
    return advice === undefined ? undefined : `${node.expression.text}() is a hidden input; ${advice}`;
  }
  if (
    ts.isNewExpression(node) &&
    node.expression.getText() === "Date" &&
    (node.arguments ?? []).length === 0
  ) {
    return "new Date() is a hidden input; take the time from the clock port";
  }
  if (ts.isImportDeclaration(node) && bannedModules.has(specifierOf(node) ?? "")) {
    return `${specifierOf(node)} is a hidden input; wait through the clock port`;
  }
  return undefined;
}

export function ownImports(): CheckResult {
  const problems = sourceFiles().flatMap((file) =>
    collect(file, (node) => {
      const specifier = specifierOf(node);
      if (specifier === undefined) return undefined;
      if (specifier.startsWith(".")) {
        return /\.(tsx?|json|md|mjs|cjs)$/.test(specifier)
          ? undefined
          : `import of "${specifier}": own files end in .ts`;
      }
      return isBuiltin(specifier) && !specifier.startsWith("node:")
        ? `import of "${specifier}": write "node:${specifier}"`
        : undefined;
    }),
  );
  return { problems };
}

/** The module a node imports or exports from, in any of the ways of writing it. */
export function specifierOf(node: ts.Node): string | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    return node.moduleSpecifier !== undefined && ts.isStringLiteral(node.moduleSpecifier)
      ? node.moduleSpecifier.text
      : undefined;
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    const [argument] = node.arguments;
    return argument !== undefined && ts.isStringLiteral(argument) ? argument.text : undefined;
  }
  if (
    ts.isImportTypeNode(node) &&
    ts.isLiteralTypeNode(node.argument) &&
    ts.isStringLiteral(node.argument.literal)
  ) {
    return node.argument.literal.text;
  }
  return undefined;
}

export function defaultExports(): CheckResult {
  const problems = sourceFiles().flatMap((file) =>
    collect(file, (node) => {
      const isDefault =
        ts.isExportAssignment(node) ||
        (ts.isExportSpecifier(node) && node.name.text === "default") ||
        (node.kind === ts.SyntaxKind.DefaultKeyword && ts.isDeclarationStatement(node.parent));
      return isDefault ? "default export; give it a name" : undefined;
    }),
  );
  return { problems };
}

/** Contracts are read by people who implement or configure them. */
export function documentedContracts(): CheckResult {
  const files = sourceFiles().filter(({ path, isTest }) => /^src\/(ports|config)\//.test(path) && !isTest);
  const problems = files.flatMap((file) =>
    file.tree.statements.flatMap((statement) => {
      const isExported =
        ts.canHaveModifiers(statement) &&
        ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
      if (!isExported || ts.getJSDocCommentsAndTags(statement).length > 0) return [];
      const [firstLine = ""] = statement.getText().split("\n");
      return [`${locate(file, statement)}: "${firstLine}" has no comment saying what it promises`];
    }),
  );
  return { problems };
}

const testFunctions = new Set(["test", "it", "describe", "suite"]);

/** Nothing may be switched off by hand; what cannot run is skipped by the runner, or by t.skip("reason"). */
export function testMarks(): CheckResult {
  const files = sourceFiles().filter(({ isTest }) => isTest);
  return { problems: files.flatMap((file) => collect(file, testMark)) };
}

function testMark(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node) && ["only", "skip", "todo"].includes(node.name.text)) {
    if (testFunctions.has(node.expression.getText())) return `${node.getText()} switches tests off`;
    const isReasonedSkip =
      node.name.text === "skip" && ts.isCallExpression(node.parent) && node.parent.arguments.length > 0;
    const isContext = ["t", "context"].includes(node.expression.getText());
    return isContext && !isReasonedSkip ? `${node.getText()} without a reason` : undefined;
  }
  if (ts.isPropertyAssignment(node) && ["only", "skip", "todo"].includes(node.name.getText())) {
    const call = node.parent.parent;
    const isOption = ts.isCallExpression(call) && testFunctions.has(call.expression.getText());
    return isOption && node.initializer.kind === ts.SyntaxKind.TrueKeyword
      ? `${node.getText()} switches tests off`
      : undefined;
  }
  return undefined;
}

function collect(file: SourceFile, problemOf: (node: ts.Node) => string | undefined): string[] {
  const problems: string[] = [];
  walk(file.tree, (node) => {
    const problem = problemOf(node);
    if (problem !== undefined) problems.push(`${locate(file, node)}: ${problem}`);
  });
  return problems;
}
