#!/usr/bin/env node
/** The program `posthorn`. */
import { nodeProblem } from "../app/needed-node.ts";

const problem = nodeProblem(process.versions.node);
if (problem === null) await run();
else refuse(problem);

/** Loaded only now, because an older Node cannot. */
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
