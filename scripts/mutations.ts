// `npm run mutations`: breaks one requirement at a time, in a copy of the project, and expects a specific test to fail.
//
//   npm run mutations                  all of them, and writes docs/mutations.md
//   npm run mutations -- WDS- IDK-20   those whose IDs contain one of these; writes nothing
//   npm run mutations -- --check       whether each one still applies to the source; runs no test, takes a second
//
// The exit status is 1 if a test passed despite its mutation, if it failed without it, or if a mutation does not apply.

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { edsMutations } from "./mutations/eds.ts";
import { cewMutations, idkMutations } from "./mutations/idk-and-cew.ts";
import { aroundMutation, type Mutation } from "./mutations/mutation.ts";
import { ts16Mutations } from "./mutations/ts16.ts";
import { wdsMutations } from "./mutations/wds.ts";
import { outputOf } from "./program-output.ts";
import { projectFiles, projectRoot } from "./source-files.ts";

const page = "docs/mutations.md";
/**
 * Time limit of a test. It is much longer than any test takes. A test that hangs does not prove that it detected the
 * mutation.
 */
const runMsMax = 180_000;
/**
 * How long a broken test may wait for an event that never happens. The usual limit is longer, because it is meant for
 * busy machines.
 */
const brokenWaitMs = 60_000;
/** The project is developed on a machine with two shared cores. */
const concurrency = 2;

const all: readonly Mutation[] = [
  ...edsMutations,
  ...ts16Mutations,
  ...idkMutations,
  ...cewMutations,
  ...wdsMutations,
];

/** Requirements that an external review found insufficiently proved. Each has a mutation. */
const chosenByTrial =
  "EDS-6.2-4 EDS-9.2-1 EDS-9.7-6 EDS-11.6-2 IDK-13 CEW-2.2-2 TS16-61 TS16-72 TS16-110 TS16-119 WDS-71 WDS-76 WDS-88 WDS-103 " +
  "WDS-112 WDS-126 WDS-147 WDS-166 WDS-172 WDS-202 WDS-224 WDS-225 WDS-227 WDS-228 WDS-229 WDS-230 WDS-231 WDS-234 WDS-239";

/**
 * Requirements drawn at random in November 2026 from the 414 that had a test but no mutation, so that the table
 * contains more than its authors' own choices. Each has a mutation or a reason why not.
 */
const drawnRows =
  "WDS-220 TS16-27 TS16-68 EDS-2-6 TS16-31 WDS-72 EDS-9.7-7 TS16-16 TS16-90 IDK-5 TS16-126 EDS-11.3-2 TS16-89 EDS-6.1-1 " +
  "WDS-64 TS16-19 EDS-9.2.2-4 WDS-97 WDS-122 EDS-9.2.3-12 CEW-4-1 WDS-74 CEW-4.2-4 EDS-9.4-2 WDS-43 WDS-214 WDS-91 CEW-2.1-3 " +
  "EDS-9.2.3-8 TS16-24 WDS-193 WDS-204 EDS-9.4-4 WDS-46 WDS-100 EDS-6.3-5 TS16-65 IDK-25 WDS-48 WDS-124";

/** Requirements from the two lists that no code change can break, with the reason in Markdown. */
const unbreakableRows: ReadonlyMap<string, string> = new Map([
  ["TS16-72", "it sums up other rows, and its static source addresses come from the network of the operator"],
]);

/** `red`: the named test detected the mutation. `green`: it did not. `failed`: the mutation could not be tested. */
type Result = { readonly kind: "red" } | { readonly kind: "green" | "failed"; readonly detail: string };

const wanted = process.argv.slice(2);

/** A code change may have removed the text that a mutation replaces. */
function check(): void {
  const problems: string[] = [];
  for (const mutation of all) {
    try {
      aroundMutation(mutation, readFileSync(join(projectRoot, mutation.file), "utf8"));
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  const broken = new Set(all.flatMap(({ ids }) => ids.split(" ")));
  for (const id of [...chosenByTrial.split(" "), ...drawnRows.split(" ")])
    if (!broken.has(id) && !unbreakableRows.has(id))
      problems.push(`${id} has neither a mutation nor a sentence in unbreakableRows (scripts/mutations.ts)`);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.stdout.write(`${all.length} mutations, ${problems.length} problems\n`);
  if (problems.length > 0) process.exitCode = 1;
}

async function main(): Promise<void> {
  const chosen = all.filter(({ ids }) => wanted.length === 0 || wanted.some((part) => ids.includes(part)));
  const waiting = [...chosen];
  let red = 0;
  const work = async (): Promise<void> => {
    const tree = new ScratchTree();
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const result = await tried(next, tree);
        if (result.kind === "red") red += 1;
        const mark = result.kind === "red" ? "red   " : result.kind.toUpperCase().padEnd(6);
        const detail = result.kind === "red" ? "" : `\n      ${result.detail.replaceAll("\n", "\n      ")}`;
        process.stdout.write(`${mark} ${next.ids}: ${next.change}${detail}\n`);
      }
    } finally {
      tree.remove();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  process.stdout.write(`\n${chosen.length} mutations, ${red} noticed by the test that is named\n`);
  if (red < chosen.length) process.exitCode = 1;
  else if (wanted.length === 0) writeFileSync(join(projectRoot, page), writePage());
}

async function tried(mutation: Mutation, tree: ScratchTree): Promise<Result> {
  try {
    const before = await run(mutation, tree, process.env);
    if (!/^[1-9]\d* passed, 0 failed/m.test(before))
      return { kind: "failed", detail: `without the mutation:\n${before}` };
    const broken = await tree.whileBroken(mutation, () =>
      run(mutation, tree, { ...process.env, POSTHORN_TEST_WAIT_MS: String(brokenWaitMs) }),
    );
    // A file that cannot be loaded fails for a different reason than the mutation.
    if (/SyntaxError|ReferenceError|FAIL the file itself|^ended by SIG/m.test(broken))
      return { kind: "failed", detail: broken };
    return /, [1-9]\d* failed/.test(broken) ? { kind: "red" } : { kind: "green", detail: broken };
  } catch (error) {
    return { kind: "failed", detail: String(error) };
  }
}

/** Returns the output of `npm test -- FILE --name NAME` in the copy. */
async function run({ test, name }: Mutation, { root }: ScratchTree, env: NodeJS.ProcessEnv): Promise<string> {
  const args = ["--conditions=posthorn-source", "scripts/test.ts", test, "--name", RegExp.escape(name)];
  const options = { cwd: root, env: { ...env, NO_COLOR: "1" }, timeout: runMsMax };
  const { output } = await outputOf(args, options);
  const text = stripVTControlCharacters(output).trim();
  return text.length > 2_000 ? `${text.slice(0, 1_000)}\n…\n${text.slice(-1_000)}` : text;
}

/** A copy of the project in which files may be broken, so that mutations never touch the working tree. */
class ScratchTree {
  readonly root = mkdtempSync(join(tmpdir(), "posthorn-mutations-"));

  constructor() {
    for (const path of projectFiles()) cpSync(join(projectRoot, path), join(this.root, path));
    symlinkSync(join(projectRoot, "node_modules"), join(this.root, "node_modules"), "junction");
  }

  /** Applies the mutation to one file while `work` runs. Throws unless the text to be replaced occurs exactly once. */
  async whileBroken<T>(mutation: Mutation, work: () => Promise<T>): Promise<T> {
    const path = join(this.root, mutation.file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, aroundMutation(mutation, text).join(mutation.replace));
    try {
      return await work();
    } finally {
      writeFileSync(path, text);
    }
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

function writePage(): string {
  const rows = all.map(({ ids, change, file, test, name }) => {
    const links = ids.split(" ").map(linkTo).join(", ");
    const testCell = `[${test}](../${test}): ${escape(name)}`;
    return `| ${links} | ${escape(change)} | [${file}](../${file}) | ${testCell} |`;
  });
  const unbreakable = [...unbreakableRows].map(([id, reason]) => `- ${linkTo(id)}: ${reason}.`);
  return `<!-- Written by npm run mutations after a run in which every row was red; do not edit. -->

# Mutations

A test proves a requirement only if it fails when the behaviour is broken. \`npm run mutations\` breaks the ${all.length} promises below one by one, in a copy of the project, and runs the test named in its row: first on the unbroken copy, which must be green, then on the broken one, which must be red. This page is written only if all rows were red. The changes are defined in \`scripts/mutations/\`.

The rows come from three sources:

- the hardest rows of each document;
- ${countOf(chosenByTrial)} rows that an outside trial found badly proved;
- ${countOf(drawnRows)} rows drawn at random from the 414 rows that had a test and no mutation in November 2026.

\`npm run mutations -- --check\` checks that each mutation still applies to the source, and requires a mutation for each row of the last two sources, except these, which no change of the code can break:

${unbreakable.join("\n")}

| Requirements | What is broken | Where | The test that turned red |
| --- | --- | --- | --- |
${rows.join("\n")}
`;
}

function linkTo(id: string): string {
  return `[${id}](conformance.md#${id.toLowerCase()})`;
}

function countOf(ids: string): number {
  return ids.split(" ").length;
}

function escape(text: string): string {
  return text.replaceAll(/[\\`*_<>[\]|]/g, String.raw`\$&`);
}

if (wanted[0] === "--check") check();
else await main();
