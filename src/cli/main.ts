#!/usr/bin/env node
/** The program `posthorn`. */
import { endWithReader } from "./closed-pipe.ts";
import { processInvocation } from "./invocation.ts";
import { runProgram } from "./program.ts";

endWithReader(process);
process.exitCode = await runProgram(process.argv.slice(2), processInvocation());
