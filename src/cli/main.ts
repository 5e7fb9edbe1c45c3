#!/usr/bin/env node
/** The program `posthorn`. */
import { processInvocation } from "./invocation.ts";
import { runProgram } from "./program.ts";

process.exitCode = await runProgram(process.argv.slice(2), processInvocation());
