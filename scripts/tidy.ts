// Rules of this project that neither the compiler nor the linter nor knip checks. Each entry is one line of `npm test`.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import ts from "@typescript/typescript6";
import type { Check, CheckResult } from "./check.ts";
import { locate, projectFiles, projectRoot, type SourceFile, sourceFiles, walk } from "./source-files.ts";

/** Maximum number of banned phrases in the project. Lower it whenever the check reports fewer. */
const bannedPhrasesMax = 39;

export const tidyRules: readonly Check[] = [
  { name: "english", title: "plain English", run: plainEnglish },
  { name: "hidden-dates", title: "no hidden clock", run: hiddenDates },
  { name: "spreads", title: "no spread of a literal", run: literalSpreads },
  { name: "names", title: "file names", run: fileNames },
  { name: "contracts", title: "every export of ports and config is documented", run: documentedContracts },
  { name: "test-marks", title: "no disabled test", run: testMarks },
  { name: "links", title: "links between pages resolve", run: markdownLinks },
  { name: "named-files", title: "files named in comments and pages exist", run: namedFiles },
  { name: "event-path", title: "the path of an event, step by step", run: eventPath },
];

/** One entry for each node for which `problemOf` returns a string. */
function collect(file: SourceFile, problemOf: (node: ts.Node) => string | undefined): string[] {
  const problems: string[] = [];
  walk(file.tree, (node) => {
    const problem = problemOf(node);
    if (problem !== undefined) problems.push(`${locate(file, node)}: ${problem}`);
  });
  return problems;
}

// ---- language ---------------------------------------------------------------------------------------------------

/**
 * Phrases that make a sentence hard to read: vague subjects, programs that are personified, clipped sentences and
 * private idioms.
 */
const bannedPhrases = [
  /\b(?:nobody|somebody|everybody|whoever)\b/gi,
  /\bwhatever (?:is|was|comes|came)\b/gi,
  /\b(?:is|are|was|were) no (?!longer|more\b|other\b|such\b|one\b|need\b|way\b|reason\b)[a-z]+/gi,
  /\b(?:is|are|was|were|be|been|being) told\b/gi,
  /\bwhat (?:is|was|were|came|comes|waits|waited|remains|happens to be) [a-z]+ed\b/gi,
  /\b(?:hears?|mend(?:s|ed|ing)?|anew|meanwhile|aside|beside|purse|crowd)\b/gi,
  /\b(?:by itself|all the same|lets? go on|of (?:its|their|your) own|stands? in|goes by|so that it)\b/gi,
  /\bat most\b(?= *[.,;:)]|$)/gi,
];

/**
 * Counts banned phrases in the comments and strings of src and dashboard, in the pages, and in the subject of the last
 * commit.
 */
function plainEnglish(): CheckResult {
  const found = sourceFiles()
    .filter(({ path, isTest }) => /^(src|dashboard)\//.test(path) && !isTest)
    .flatMap((file) => textsOf(file).flatMap(([text, node]) => phrasesIn(text, () => locate(file, node))));
  const pages = projectFiles().filter((path) =>
    /^(docs\/.*|README|ARCHITECTURE|CONTRIBUTING|CHANGELOG)\.md$/.test(path),
  );
  for (const page of pages)
    for (const [index, line] of readFileSync(join(projectRoot, page), "utf8").split("\n").entries())
      found.push(...phrasesIn(line, () => `${page}:${index + 1}`));
  const problems = problemsOfSubject(lastCommitSubject());
  if (found.length > bannedPhrasesMax)
    problems.push(`${found.length} banned phrases, at most ${bannedPhrasesMax}:`, ...found);
  return { problems, note: `${found.length} banned phrases left, at most ${bannedPhrasesMax}` };
}

function phrasesIn(text: string, place: () => string): string[] {
  return bannedPhrases.flatMap((phrase) =>
    [...text.matchAll(phrase)].map(([match]) => `${place()}: ${match}`),
  );
}

type PlacedText = readonly [text: string, node: ts.Node];

function textsOf(file: SourceFile): readonly PlacedText[] {
  const texts: PlacedText[] = [];
  walk(file.tree, (node) => {
    if (
      ts.isStringLiteralLike(node) ||
      ts.isTemplateHead(node) ||
      ts.isTemplateMiddleOrTemplateTail(node) ||
      ts.isJsxText(node)
    )
      texts.push([node.text, node]);
  });
  return [...texts, ...commentsOf(file)];
}

function commentsOf({ tree, text }: SourceFile): readonly PlacedText[] {
  const comments: PlacedText[] = [];
  const seen = new Set<number>();
  walk(tree, (node) => {
    const leading = ts.getLeadingCommentRanges(text, node.getFullStart()) ?? [];
    const trailing = ts.getTrailingCommentRanges(text, node.end) ?? [];
    for (const { pos, end } of [...leading, ...trailing]) {
      if (!seen.has(pos)) comments.push([text.slice(pos, end), node]);
      seen.add(pos);
    }
  });
  return comments;
}

/** Null outside a Git repository. */
function lastCommitSubject(): string | null {
  try {
    const output = execFileSync("git", ["log", "-1", "--format=%s"], {
      cwd: projectRoot,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return output.trim();
  } catch {
    return null;
  }
}

function problemsOfSubject(subject: string | null): string[] {
  if (subject === null) return [];
  const problems = phrasesIn(subject, () => "subject of the last commit");
  if (subject.length > 72)
    problems.push(`the subject of the last commit has ${subject.length} characters, at most 72`);
  return problems;
}

// ---- source ------------------------------------------------------------------------------------------------------

/**
 * Code that must behave the same for the same inputs. In this code, the linter forbids all other clocks, timers and
 * random numbers.
 */
const deterministicParts = /^src\/(domain|ports|engine|features|resources|http)\//;

function hiddenDates(): CheckResult {
  const files = sourceFiles().filter(({ path, isTest }) => deterministicParts.test(path) && !isTest);
  return {
    problems: files.flatMap((file) =>
      collect(file, (node) =>
        ts.isNewExpression(node) &&
        node.expression.getText() === "Date" &&
        (node.arguments ?? []).length === 0
          ? "new Date() is a hidden input; take the time from the clock port"
          : undefined,
      ),
    ),
  };
}

function literalSpreads(): CheckResult {
  const isLiteralSpread = (node: ts.Node): boolean =>
    (ts.isSpreadAssignment(node) && ts.isObjectLiteralExpression(node.expression)) ||
    (ts.isSpreadElement(node) && ts.isArrayLiteralExpression(node.expression));
  const files = sourceFiles().filter(({ isTest }) => !isTest);
  return {
    problems: files.flatMap((file) =>
      collect(file, (node) => (isLiteralSpread(node) ? "write the members without the spread" : undefined)),
    ),
  };
}

/** File names that do not describe the content. The linter checks that names are kebab-case. */
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

function fileNames(): CheckResult {
  const problems = new Set<string>();
  for (const path of projectFiles().filter((each) => /^(src|test|bench|scripts|dashboard)\//.test(each)))
    for (const part of path.split("/")) {
      const [stem = ""] = part.replace(/^\./, "").split(".");
      if (bucketNames.has(stem.toLowerCase()))
        problems.add(`${path}: "${stem}" names a bucket; name the content`);
    }
  return { problems: [...problems] };
}

/**
 * Checks that exported ports and settings have comments, because people who implement a port or configure Posthorn rely
 * on them.
 */
function documentedContracts(): CheckResult {
  const files = sourceFiles().filter(({ path, isTest }) => /^src\/(ports|config)\//.test(path) && !isTest);
  const problems = files.flatMap((file) =>
    file.tree.statements.flatMap((statement) => {
      const isExported =
        ts.canHaveModifiers(statement) &&
        ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
      if (!isExported || ts.getJSDocCommentsAndTags(statement).length > 0) return [];
      const [firstLine = ""] = statement.getText().split("\n");
      return [`${locate(file, statement)}: "${firstLine}" has no comment with its contract`];
    }),
  );
  return { problems };
}

const testFunctions = new Set(["test", "it", "describe", "suite"]);
const marks = new Set(["only", "skip", "todo"]);

/** A test is skipped by the runner or by t.skip("reason"), never by a mark on the test function. */
function testMarks(): CheckResult {
  return {
    problems: sourceFiles()
      .filter(({ isTest }) => isTest)
      .flatMap((file) => collect(file, testMark)),
  };
}

function testMark(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node) && marks.has(node.name.text)) {
    if (testFunctions.has(node.expression.getText())) return `${node.getText()} disables tests`;
    const isReasonedSkip =
      node.name.text === "skip" && ts.isCallExpression(node.parent) && node.parent.arguments.length > 0;
    const isContext = ["t", "context"].includes(node.expression.getText());
    return isContext && !isReasonedSkip ? `${node.getText()} without a reason` : undefined;
  }
  if (!ts.isPropertyAssignment(node) || !marks.has(node.name.getText())) return undefined;
  const call = node.parent.parent;
  const isOption = ts.isCallExpression(call) && testFunctions.has(call.expression.getText());
  return isOption && node.initializer.kind === ts.SyntaxKind.TrueKeyword
    ? `${node.getText()} disables tests`
    : undefined;
}

// ---- pages -------------------------------------------------------------------------------------------------------

function markdownLinks(): CheckResult {
  const pages = projectFiles().filter((path) => path.endsWith(".md") && !path.startsWith("specs/sources/"));
  const problems = pages.flatMap((page) => {
    const text = withoutCode(readFileSync(join(projectRoot, page), "utf8"));
    return linksIn(text).flatMap((link) => problemOfLink(page, link) ?? []);
  });
  return { problems: [...problems, ...pagesNotListedOnce(pages)], note: `${pages.length} pages` };
}

/** Each page of `docs/` must be listed exactly once in an index, so that readers can find it. */
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

/** The anchors that GitHub derives from headings, and those written manually. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of withoutCodeBlocks(text).matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
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

function withoutCodeBlocks(text: string): string {
  return text.replaceAll(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^\1\2[ \t]*$/gm, "");
}

function withoutCode(text: string): string {
  return withoutCodeBlocks(text).replaceAll(/(`+)(?!`)[^\n]*?[^`]\1(?!`)/g, "");
}

/** Matches `NAME.ts`, `NAME.tsx` and `folder/NAME.ts`, but not `.pg.test.ts`, `*.ts` or a placeholder in capitals. */
const fileName = /(?<![\w*.}>/-])(?:\.{0,2}\/)*((?:[\w.-]+\/)*[a-z][\w.-]*\.tsx?)(?![\w(-])/g;

/**
 * Checks that files named in texts exist. The name of a file that was merged or renamed would mislead the reader. The
 * changelog and the notes describe the past, so they are not checked.
 */
function namedFiles(): CheckResult {
  const files = projectFiles();
  const exists = (name: string): boolean => files.some((path) => `/${path}`.endsWith(`/${name}`));
  const missingIn = (text: string): string[] =>
    [...text.matchAll(fileName)].map(([, name = ""]) => name).filter((name) => !exists(name));
  const comments = sourceFiles().flatMap((file) =>
    commentsOf(file).flatMap(([text, node]) =>
      missingIn(text).map((name) => `${locate(file, node)}: names ${name}, which does not exist`),
    ),
  );
  const pages = files.filter(
    (path) => path.endsWith(".md") && !/^(CHANGELOG|docs\/notes|specs)\b/.test(path),
  );
  const inPages = pages.flatMap((page) =>
    missingIn(withoutLinks(withoutCodeBlocks(readFileSync(join(projectRoot, page), "utf8")))).map(
      (name) => `${page}: names ${name}, which does not exist`,
    ),
  );
  return { problems: [...comments, ...inPages] };
}

/** Removes the targets of links, which a separate check covers. */
function withoutLinks(text: string): string {
  return text.replaceAll(/\]\([^)]*\)/g, "]");
}

const stepsMax = 25;
const step = /^\| \d+ \| \[`(?<path>[^`]+)`\]\([^)]+\) \| `(?<name>[#\w]+)` \|/gm;

/**
 * Checks the path of an event in ARCHITECTURE.md. Each function must be in the named file and be called by an earlier
 * one.
 */
function eventPath(): CheckResult {
  const page = "ARCHITECTURE.md";
  const steps = [...readFileSync(join(projectRoot, page), "utf8").matchAll(step)].map(({ groups = {} }) => ({
    path: `src/${groups["path"]}`,
    name: groups["name"] ?? "",
  }));
  const problems: string[] = [];
  if (steps.length === 0 || steps.length > stepsMax)
    problems.push(`${page}: the path of an event has ${steps.length} steps, not 1 to ${stepsMax}`);
  const called = new Set<string>();
  for (const [index, { path, name }] of steps.entries()) {
    const body = bodyOf(path, name);
    if (body === null) problems.push(`${page}: there is no ${name} in ${path}`);
    else if (index > 0 && !called.has(name))
      problems.push(`${page}: no earlier step calls ${name} (${path})`);
    if (body !== null)
      walk(body, (node) => {
        if (ts.isPropertyAccessExpression(node)) called.add(node.name.getText());
        else if (ts.isCallExpression(node)) called.add(node.expression.getText());
      });
  }
  return { problems, note: `${steps.length} steps` };
}

function bodyOf(path: string, name: string): ts.Node | null {
  const file = sourceFiles().find((each) => each.path === path);
  let found: ts.Node | null = null;
  if (file === undefined) return found;
  walk(file.tree, (node) => {
    const isFunction =
      ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isPropertyDeclaration(node);
    if (isFunction && node.name?.getText() === name) found ??= node;
  });
  return found;
}
