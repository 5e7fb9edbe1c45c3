// `npm run mutations`: breaks promises one by one, in a copy, and expects the test that is named for each to notice.
//
//   npm run mutations                  all of them, and writes docs/mutations.md
//   npm run mutations -- WDS- IDK-20   those whose ids contain one of these; writes nothing
//   npm run mutations -- --draw        40 rows at random that a test proves and no mutation breaks, with the seed
//
// Exit status 1 when a test stayed green, or failed without being provoked.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { findEverything } from "./conformance/findings.ts";
import { allMutations as all } from "./mutations/all.ts";
import { chosenByTrial, draw } from "./mutations/drawn.ts";
import type { Mutation } from "./mutations/mutation.ts";
import { type MutationResult, mutationsPage, writeMutationsPage } from "./mutations/page.ts";
import { ScratchTree } from "./mutations/tree.ts";
import { projectRoot } from "./source-files.ts";

/** Far more than any of them takes; a test that hangs says nothing about what it was to notice. */
const runMsMax = 180_000;
/** A broken test may wait for something that never comes; its own bound, which is for busy machines, is longer. */
const brokenWaitMs = 60_000;
/** Two shared cores are what the project is developed on. */
const concurrency = 2;

await main(process.argv.slice(2));

async function main(wanted: readonly string[]): Promise<void> {
  if (wanted[0] === "--draw") return drawRows();
  const chosen = all.filter(({ ids }) => wanted.length === 0 || wanted.some((part) => ids.includes(part)));
  const results = new Map<Mutation, MutationResult>();
  const waiting = [...chosen];
  const work = async (): Promise<void> => {
    const tree = new ScratchTree();
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const result = await tried(next, tree);
        results.set(next, result);
        const mark = result.kind === "red" ? "red   " : result.kind.toUpperCase().padEnd(6);
        process.stdout.write(`${mark} ${next.ids}: ${next.change}${detailOf(result)}\n`);
      }
    } finally {
      tree.remove();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  const red = [...results.values()].filter(({ kind }) => kind === "red").length;
  process.stdout.write(`\n${chosen.length} mutations, ${red} noticed by the test that is named\n`);
  if (red < chosen.length) process.exitCode = 1;
  else if (wanted.length === 0) writeFileSync(join(projectRoot, mutationsPage), writeMutationsPage(all));
}

function drawRows(): void {
  const broken = new Set([...all.flatMap(({ ids }) => ids.split(" ")), ...chosenByTrial.split(" ")]);
  const rows = [...findEverything().byDocument.values()]
    .flat()
    .filter(({ state, row }) => state === "proved" && !broken.has(row.id))
    .map(({ row }) => row.id);
  const { seed, drawn } = draw(rows);
  process.stdout.write(`${rows.length} rows, seed ${seed}\n${drawn.join("\n")}\n`);
}

function detailOf(result: MutationResult): string {
  return result.kind === "red" ? "" : `\n      ${result.detail.replaceAll("\n", "\n      ")}`;
}

async function tried(mutation: Mutation, tree: ScratchTree): Promise<MutationResult> {
  try {
    const before = await run(mutation, tree, process.env);
    if (!/^[1-9]\d* passed, 0 failed/m.test(before))
      return { kind: "failed", detail: `without the mutation:\n${before}` };
    const broken = await tree.whileBroken(mutation, () =>
      run(mutation, tree, { ...process.env, POSTHORN_TEST_WAIT_MS: String(brokenWaitMs) }),
    );
    // A file that cannot be loaded is red for another reason than the one that is meant.
    if (/SyntaxError|ReferenceError|FAIL the file itself/.test(broken))
      return { kind: "failed", detail: broken };
    return /, [1-9]\d* failed/.test(broken) ? { kind: "red" } : { kind: "green", detail: broken };
  } catch (error) {
    return { kind: "failed", detail: String(error) };
  }
}

/** What `npm test -- FILE --name NAME` says in the copy. */
async function run({ test, name }: Mutation, { root }: ScratchTree, env: NodeJS.ProcessEnv): Promise<string> {
  const pattern = name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  const args = ["--conditions=posthorn-source", "scripts/test.ts", test, "--name", pattern];
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...env, NO_COLOR: "1" },
    timeout: runMsMax,
  });
  let output = "";
  const keep = (text: string): void => void (output += text);
  child.stdout.setEncoding("utf8").on("data", keep);
  child.stderr.setEncoding("utf8").on("data", keep);
  const { promise, resolve, reject } = Promise.withResolvers<null>();
  child.once("error", reject);
  child.once("close", (_, signal) =>
    signal === null ? resolve(null) : reject(new Error(`ended by ${signal}`)),
  );
  await promise;
  const text = stripVTControlCharacters(output).trim();
  return text.length > 2_000 ? `${text.slice(0, 1_000)}\n…\n${text.slice(-1_000)}` : text;
}
