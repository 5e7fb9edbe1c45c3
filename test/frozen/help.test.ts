import { test } from "node:test";
import type { Command } from "commander";
import { createProgram } from "../../src/cli/program.ts";
import { processInvocation } from "../../src/cli/invocation.ts";
import { assertFrozen } from "./golden.ts";

/** A fixed width, because the text must not depend on the terminal. */
function helpTexts(command: Command, path: string): readonly string[] {
  let text = "";
  command.configureHelp({ helpWidth: 100 }).configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  const inner = command.commands.flatMap((child) => helpTexts(child, `${path} ${child.name()}`));
  return [`$ ${path} --help\n${text.trimEnd()}\n`, ...inner];
}

test("the help of every command matches the golden files", () => {
  assertFrozen("help.txt", helpTexts(createProgram(processInvocation()), "posthorn").join("\n"));
});
