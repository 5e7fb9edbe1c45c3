import { Argument, type Command } from "commander";
import { completionScripts } from "../completion-scripts.ts";
import type { Invocation } from "../invocation.ts";

const shells = Object.keys(completionScripts) as (keyof typeof completionScripts)[];

export function addCompletionCommand(program: Command, invocation: Invocation): void {
  program
    .command("completion")
    .description("print a shell completion script")
    .addArgument(new Argument("<shell>", "shell").choices(shells))
    .addHelpText("after", `\n${howTo}`)
    .action((shell: keyof typeof completionScripts) => {
      invocation.terminal({ json: false }).data(completionScripts[shell](program).trimEnd());
    });
}

const howTo = `bash  posthorn completion bash > ~/.local/share/bash-completion/completions/posthorn
zsh   posthorn completion zsh > a file named _posthorn in a folder of $fpath
fish  posthorn completion fish > ~/.config/fish/completions/posthorn.fish`;
