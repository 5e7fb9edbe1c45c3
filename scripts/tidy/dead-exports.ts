// An export that no other file imports is either forgotten or need not be exported.
//
// Types are alive as well when their own file mentions them: they are then part of what another export promises.

import { posix } from "node:path";
import ts from "@typescript/typescript6";
import type { CheckResult } from "../check.ts";
import { locate, type SourceFile, sourceFiles, walk } from "../source-files.ts";
import { allowedDeadExports, withoutAllowed } from "./allowed.ts";

/** What others use from outside: the library, the program, the receiver kit, the client, and files that are run by hand. */
const entries = [
  /^src\/app\/(library|package-entry)\.ts$/,
  /^src\/cli\/main\.ts$/,
  /^src\/receiver\/(index|frameworks\/[^/]+)\.ts$/,
  /^src\/client\/(index|outbox\/(index|[a-z]+-store))\.ts$/,
  /^(bench|test\/simulation)\/run\.ts$/,
  // By the server that runs from source, over its path.
  /^scripts\/bundle-dashboard\.ts$/,
];

const everything = "*";

interface FoundExport {
  readonly name: string;
  readonly isType: boolean;
  readonly node: ts.Node;
}

export function deadExports(): CheckResult {
  const used = usedNames();
  const problems = new Map<string, string>();
  for (const file of sourceFiles()) {
    if (entries.some((entry) => entry.test(file.path))) continue;
    for (const found of exportsOf(file)) {
      const names = used.get(file.path);
      if (names?.has(found.name) === true || names?.has(everything) === true) continue;
      if (found.isType && mentions(file, found.name) > 1) continue;
      problems.set(
        `${file.path}#${found.name}`,
        `${locate(file, found.node)}: nothing imports ${found.name}`,
      );
    }
  }
  return { problems: withoutAllowed(problems, allowedDeadExports) };
}

/** For each file, the names that other files import from it. */
function usedNames(): Map<string, Set<string>> {
  const used = new Map<string, Set<string>>();
  for (const file of sourceFiles()) {
    const use = (specifier: ts.Node | undefined, names: readonly string[]): void => {
      if (specifier === undefined || !ts.isStringLiteral(specifier) || !specifier.text.startsWith("."))
        return;
      const path = posix.join(posix.dirname(file.path), specifier.text);
      used.set(path, (used.get(path) ?? new Set()).union(new Set(names)));
    };
    walk(file.tree, (node) => {
      if (ts.isImportDeclaration(node)) use(node.moduleSpecifier, importedNames(node));
      if (ts.isExportDeclaration(node)) use(node.moduleSpecifier, reexportedNames(node));
      if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
        use(node.arguments[0], [everything]);
      }
      if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
        use(node.argument.literal, [node.qualifier?.getText().split(".")[0] ?? everything]);
      }
    });
  }
  return used;
}

function importedNames({ importClause }: ts.ImportDeclaration): string[] {
  const bindings = importClause?.namedBindings;
  if (bindings === undefined) return [];
  if (ts.isNamespaceImport(bindings)) return [everything];
  return bindings.elements.map((element) => (element.propertyName ?? element.name).text);
}

function reexportedNames({ exportClause }: ts.ExportDeclaration): string[] {
  if (exportClause === undefined || !ts.isNamedExports(exportClause)) return [everything];
  return exportClause.elements.map((element) => (element.propertyName ?? element.name).text);
}

function exportsOf(file: SourceFile): FoundExport[] {
  return file.tree.statements.flatMap((node): FoundExport[] => {
    if (
      ts.isExportDeclaration(node) &&
      node.exportClause !== undefined &&
      ts.isNamedExports(node.exportClause)
    ) {
      return node.exportClause.elements.map((element) => ({
        name: element.name.text,
        isType: false,
        node: element,
      }));
    }
    const isExported =
      ts.canHaveModifiers(node) &&
      ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (isExported !== true) return [];
    if (ts.isVariableStatement(node)) {
      return node.declarationList.declarations
        .flatMap(({ name }) => boundNames(name))
        .map((name) => ({ name, isType: false, node }));
    }
    const isType = ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
    const isDeclaration = isType || ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node);
    return isDeclaration && node.name !== undefined ? [{ name: node.name.text, isType, node }] : [];
  });
}

function boundNames(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) =>
    ts.isOmittedExpression(element) ? [] : boundNames(element.name),
  );
}

function mentions(file: SourceFile, name: string): number {
  let count = 0;
  walk(file.tree, (node) => {
    if (ts.isIdentifier(node) && node.text === name) count += 1;
  });
  return count;
}
