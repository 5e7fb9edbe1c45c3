#!/usr/bin/env node
import { nodeProblem } from "../app/needed-node.ts";

const problem = nodeProblem(process.versions.node);
if (problem === null) await run();
else refuse(problem);

/** Imported dynamically, because older Node versions cannot load these modules. */
async function run(): Promise<void> {
  const [{ processInvocation }, { runProgram }] = await Promise.all([
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

/**
 * Handles a closed pipe, as in `posthorn … | head`, which is not an error. It acts like a stop signal, so that commands
 * such as `listen` can clean up. A closed standard error is ignored, so that a server keeps running if the process that
 * reads its log exits.
 */
function endWithReader(streams: Pick<NodeJS.Process, "stdout" | "stderr">): void {
  let isFirst = true;
  streams.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE" && isFirst) throw error;
    if (!isFirst) return;
    isFirst = false;
    if (!process.emit("SIGTERM")) process.exit(0);
  });
  streams.stderr.on("error", () => undefined);
}
