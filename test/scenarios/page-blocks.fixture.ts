import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFiles } from "../../scripts/source-files.ts";
import { root } from "../packages/built-package.fixture.ts";

/** One fenced code block of a page. */
export interface PageBlock {
  readonly page: string;
  /** Starts at 1. */
  readonly line: number;
  /** Empty for diagrams and examples, which have no language. */
  readonly language: string;
  readonly code: string;
  /** Why the block is not executed, if the line before the block gives a reason. */
  readonly notExecuted: string | null;
}

/** Documentation pages, sorted by path. */
export function pages(): readonly string[] {
  return projectFiles()
    .filter((path) => path.endsWith(".md") && !path.endsWith("CHANGELOG.md"))
    .toSorted();
}

export function blocksOf(page: string): readonly PageBlock[] {
  const text = readFileSync(join(root, page), "utf8");
  const fenced = /(?:^ *<!-- not executed: (.+) -->\n)?^( *)```([\w-]*)[^\n]*\n([^]*?)^\2```$/gm;
  return [...text.matchAll(fenced)].map((found) => {
    const [, notExecuted = null, indent = "", language = "", code = ""] = found;
    const line = text.slice(0, found.index).split("\n").length;
    return { page, line, language, code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""), notExecuted };
  });
}
