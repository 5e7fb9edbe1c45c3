import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFiles } from "../../scripts/source-files.ts";
import { root } from "../packages/built-package.ts";

/** One fenced block of a page. */
export interface PageBlock {
  readonly page: string;
  /** From 1. */
  readonly line: number;
  /** Empty for pictures and exchanges, which nobody types. */
  readonly language: string;
  readonly code: string;
  /** Why nothing executes it, where the page says so in the line before. */
  readonly notExecuted: string | null;
}

/** Pages for people, in order of their paths. */
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
