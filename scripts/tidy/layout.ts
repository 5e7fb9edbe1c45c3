// Rules about files: size, names, leftovers, links.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import type { CheckResult } from "../check.ts";
import { projectFiles, projectRoot, sourceFiles } from "../source-files.ts";
import { distribution } from "./distribution.ts";

const fileLinesMax = 800;

/** Names that say nothing about what is inside. */
const bucketNames = new Set([
  "utils",
  "util",
  "helpers",
  "helper",
  "types",
  "common",
  "misc",
  "classes",
  "interfaces",
]);

export function fileLengths(): CheckResult {
  const files = sourceFiles().filter(({ isTest }) => !isTest);
  const production = files.filter(({ path }) => path.startsWith("src/"));
  const counts = production.map(({ lineCount }) => lineCount);
  return {
    problems: files
      .filter(({ lineCount }) => lineCount > fileLinesMax)
      .map(
        ({ path, lineCount }) => `${path}: ${lineCount} lines, at most ${fileLinesMax}; split it by subject`,
      ),
    note: `${production.length} files in src: ${distribution(counts, 150, 300)}`,
  };
}

export function fileNames(): CheckResult {
  const problems = new Set<string>();
  const paths = projectFiles().filter((path) => /^(src|test|bench|scripts|dashboard)\//.test(path));
  for (const path of paths) {
    for (const part of path.split("/")) {
      const [stem = ""] = part.replace(/^\./, "").split(".");
      if (bucketNames.has(stem.toLowerCase()))
        problems.add(`${path}: "${stem}" names a bucket; name what is inside`);
    }
    const isOurs = /\.(ts|mjs|cjs|js|tsx)$/.test(path);
    if (isOurs && !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9-]+)*$/.test(posix.basename(path))) {
      problems.add(`${path}: file names are kebab-case`);
    }
  }
  return { problems: [...problems] };
}

export function leftovers(): CheckResult {
  // In two parts, so that this file does not contain the words.
  const marker = new RegExp(
    `\\b(${["TO DO", "FIX ME", "XX X"].map((word) => word.replace(" ", "")).join("|")})\\b`,
  );
  const problems = sourceFiles().flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => {
      const found = marker.exec(line)?.[0];
      return found === undefined ? [] : [`${path}:${index + 1}: ${found}; do it, or write an issue`];
    }),
  );
  return { problems };
}

export function markdownLinks(): CheckResult {
  const pages = projectFiles().filter((path) => path.endsWith(".md") && !path.startsWith("specs/sources/"));
  const problems = pages.flatMap((page) => {
    const text = withoutCode(readFileSync(join(projectRoot, page), "utf8"));
    return linksIn(text).flatMap((link) => problemOfLink(page, link) ?? []);
  });
  return { problems: [...problems, ...pagesNotListedOnce(pages)], note: `${pages.length} pages` };
}

/** An index lists each page of `docs/` once, so that readers find it. */
function pagesNotListedOnce(pages: readonly string[]): string[] {
  const listed = ["docs/README.md", "docs/decisions/README.md"].flatMap((index) =>
    linksIn(readFileSync(join(projectRoot, index), "utf8")).map((link) => posix.join(dirname(index), link)),
  );
  return pages.flatMap((page) => {
    const count = listed.filter((path) => path === page).length;
    if (!page.startsWith("docs/") || page === "docs/README.md" || count === 1) return [];
    return [`${page}: listed ${count} times in docs/README.md or docs/decisions/README.md, expected once`];
  });
}

function linksIn(text: string): string[] {
  const inline = [...text.matchAll(/\]\(\s*<?([^\s)>]+)>?(?:\s+"[^"]*")?\s*\)/g)];
  const references = [...text.matchAll(/^\[[^\]]+\]:\s+<?(\S+?)>?(?:\s|$)/gm)];
  const html = [...text.matchAll(/<(?:a|img|source)\s[^>]*?(?:href|src|srcset)="([^"]+)"/g)];
  return [...inline, ...references, ...html].map((match) => match[1] ?? "");
}

function problemOfLink(page: string, link: string): string | undefined {
  if (/^([a-z][a-z0-9+.-]*:|\/\/)/i.test(link)) return undefined;
  const [target = "", anchor] = link.split("#");
  const path =
    target === "" ? page : posix.join(dirname(page), decodeURIComponent(target.split("?")[0] ?? ""));
  if (path.startsWith("..")) return undefined;
  const file = join(projectRoot, path);
  if (!existsSync(file)) return `${page}: link to ${link}, which does not exist`;
  if (anchor === undefined || anchor === "" || !path.endsWith(".md")) return undefined;
  const found = anchorsOf(readFileSync(file, "utf8")).has(decodeURIComponent(anchor));
  return found ? undefined : `${page}: link to ${link}, but there is no such heading`;
}

/** Anchors as GitHub makes them of headings, and those written by hand. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of withoutCode(text, { keepInline: true }).matchAll(
    /^#{1,6}\s+(.+?)\s*#*$/gm,
  )) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "");
    const slug = plain
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(/\s/g, "-");
    let unique = slug;
    for (let count = 1; anchors.has(unique); count += 1) unique = `${slug}-${count}`;
    anchors.add(unique);
  }
  for (const [, id = ""] of text.matchAll(/\s(?:id|name)="([^"]+)"/g)) anchors.add(id);
  return anchors;
}

function withoutCode(text: string, { keepInline = false } = {}): string {
  const prose = text.replaceAll(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^\1\2[ \t]*$/gm, "");
  return keepInline ? prose : prose.replaceAll(/(`+)(?!`)[^\n]*?[^`]\1(?!`)/g, "");
}
