// The project's files as the checks see them, read and parsed once.
//
// Parsing uses TypeScript 6 under its own name, because TypeScript 7 has no compiler API. Only the parser is used: the
// type check itself runs on TypeScript 7.

import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import ts from "@typescript/typescript6";

export const projectRoot = resolve(import.meta.dirname, "..");

/** Folders that hold TypeScript of ours. */
export const codeFolders = ["src", "test", "bench", "scripts", "dashboard"] as const;

const ignoredFolders = new Set(["node_modules", ".git", "data", "dist", "coverage"]);

export interface SourceFile {
  /** Relative to the project, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly lineCount: number;
  /** Test, or data that only tests read. */
  readonly isTest: boolean;
  readonly tree: ts.SourceFile;
}

let parsed: readonly SourceFile[] | undefined;

/** Every TypeScript file of ours. */
export function sourceFiles(): readonly SourceFile[] {
  parsed ??= sourceFilesOf(projectRoot);
  return parsed;
}

/** The same of another checkout. */
export function sourceFilesOf(root: string): readonly SourceFile[] {
  return filesOf(root)
    .filter((path) => /\.tsx?$/.test(path) && isInCodeFolder(path))
    .map((path) => parse({ root, path }));
}

/** Every file of the project, whatever its kind; nothing that is generated or installed. */
export function projectFiles(): string[] {
  return filesOf(projectRoot);
}

function filesOf(root: string): string[] {
  return filesBelow(root)
    .map((path) => relative(root, path).split(sep).join("/"))
    .toSorted();
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (ignoredFolders.has(entry.name)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

function parse({ root, path }: { readonly root: string; readonly path: string }): SourceFile {
  const text = readFileSync(join(root, path), "utf8");
  return {
    path,
    text,
    lineCount: text.split("\n").length - (text.endsWith("\n") ? 1 : 0),
    isTest: isTestPath(path),
    tree: ts.createSourceFile(
      path,
      text,
      ts.ScriptTarget.Latest,
      true,
      path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
    ),
  };
}

export function isTestPath(path: string): boolean {
  return path.startsWith("test/") || /\.(test|fixture)\.ts$/.test(path);
}

function isInCodeFolder(path: string): boolean {
  return codeFolders.some((folder) => path.startsWith(`${folder}/`));
}

/** `path:line`, which editors and terminals turn into a link. */
export function locate(file: SourceFile, node: ts.Node): string {
  const { line } = file.tree.getLineAndCharacterOfPosition(node.getStart(file.tree));
  return `${file.path}:${line + 1}`;
}

/** Calls `visit` for the node and everything below it. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  node.forEachChild((child) => {
    walk(child, visit);
  });
}
