#!/usr/bin/env node
import { nodeProblem } from "../app/needed-node.ts";

const problem = nodeProblem(process.versions.node);
if (problem === null) await run();
else refuse(problem);

/** Imported dynamically, because older Node versions cannot load these modules. */
async function run(): Promise<void> {
  const [{ endWithReader }, { processInvocation }, { runProgram }] = await Promise.all([
    import("./closed-pipe.ts"),
    import("./invocation.ts"),
    import("./program.ts"),
  ]);
  endWithReader(process);
  process.exitCode = await runProgram(process.argv.slice(2), processInvocation());
}

function refuse(why: string): void {
  process.stderr.write(`posthorn: ${why}\n`);
  process.exitCode = 1;
}
