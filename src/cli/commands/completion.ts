import { Argument, type Command, type Option } from "commander";
import type { Kind } from "../../resources/field.ts";
import type { Invocation } from "../invocation.ts";
import { FieldOption } from "../plain-commands.ts";

/** Shell completion scripts, generated from the command table. */

/** A command with its subcommands, options and values. */
interface Place {
  /** Path such as `webhooks create`. Empty for the program itself. */
  readonly path: string;
  readonly commands: readonly Command[];
  readonly options: readonly Option[];
  /** Allowed values of the argument. */
  readonly values: readonly string[];
}

function places(command: Command, path = ""): readonly Place[] {
  const commands = command.createHelp().visibleCommands(command);
  const options = command.options.filter(({ hidden }) => !hidden);
  return [
    {
      path,
      commands,
      options,
      values: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
    },
    ...commands.flatMap((child) => places(child, `${path} ${child.name()}`.trim())),
  ];
}

function wordsOf({ commands, options, values }: Place): readonly string[] {
  return [
    ...values,
    ...commands.flatMap((command) => [command.name(), ...command.aliases()]),
    ...options.flatMap(({ long }) => (long === undefined || long === null ? [] : [long])),
    "--help",
  ];
}

/** Options that take a value. The completion script skips the value, to avoid mistaking it for a command. */
function withValue(all: readonly Place[]): readonly string[] {
  const options = all.flatMap((place) => place.options).filter(({ required }) => required);
  return [...new Set(options.flatMap(({ long }) => (long === undefined || long === null ? [] : [long])))];
}

/** Options with a fixed set of values. */
function choices(all: readonly Place[]): readonly (readonly [string, string])[] {
  const found = all.flatMap(({ path, options }) =>
    options.flatMap((option): (readonly [string, string])[] => {
      const values = option instanceof FieldOption ? choicesOf(option.field.kind) : (option.argChoices ?? []);
      return values.length === 0 ? [] : [[`${path} ${option.long ?? ""}`.trim(), values.join(" ")]];
    }),
  );
  return found;
}

function choicesOf(kind: Kind): readonly string[] {
  if (kind.is === "list") return choicesOf(kind.item);
  return kind.is === "choice" ? kind.values : [];
}

function bash(program: Command): string {
  const all = places(program);
  return `# Completion of posthorn for bash: posthorn completion bash
_posthorn() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" word skip="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    if [[ -n $skip ]]; then skip=""; continue; fi
    case "$word" in
      ${withValue(all).join("|")}) skip=1 ;;
      -*) ;;
      *) if _posthorn_words "$path \${word}" >/dev/null; then path="\${path:+$path }$word"; fi ;;
    esac
  done
  if [[ -n $skip ]]; then
    case "$path \${COMP_WORDS[COMP_CWORD - 1]}" in
${choices(all)
  .map(
    ([place, values]) => `      "${place}") COMPREPLY=($(compgen -W "${values}" -- "$current")); return ;;\n`,
  )
  .join("")}      *) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$(_posthorn_words "$path")" -- "$current"))
}
_posthorn_words() {
  case "\${1# }" in
${all.map((place) => `    "${place.path}") echo "${wordsOf(place).join(" ")}" ;;\n`).join("")}    *) return 1 ;;
  esac
}
complete -F _posthorn posthorn
`;
}

function zsh(program: Command): string {
  const all = places(program);
  const described = (place: Place): string =>
    [
      ...place.values.map((value) => quoted(value)),
      ...place.commands.map((command) => entry(command.name(), command.description())),
      ...place.options.flatMap(({ long, description }) =>
        long === undefined || long === null ? [] : [entry(long, description)],
      ),
    ].join(" ");
  return `#compdef posthorn
# Completion of posthorn for zsh: posthorn completion zsh
_posthorn_entries() {
  case "$1" in
${all.map((place) => `    ${quoted(place.path)}) entries=(${described(place)}) ;;\n`).join("")}    *) return 1 ;;
  esac
}
_posthorn() {
  local place="" word skip="" next
  local -a entries
  for word in \${words[2,CURRENT-1]}; do
    if [[ -n $skip ]]; then skip=""; continue; fi
    case "$word" in
      ${withValue(all).join("|")}) skip=1 ;;
      -*) ;;
      *) next="\${place:+$place }$word"; _posthorn_entries "$next" && place="$next" ;;
    esac
  done
  if [[ -n $skip ]]; then
    case "$place \${words[CURRENT-1]}" in
${choices(all)
  .map(([option, values]) => `      ${quoted(option)}) compadd -- ${values}; return ;;\n`)
  .join("")}    esac
    _files
    return
  fi
  _posthorn_entries "$place"
  _describe 'posthorn' entries
}
if [[ $funcstack[1] == _posthorn ]]; then _posthorn "$@"; else compdef _posthorn posthorn; fi
`;
}

/** A completion entry: word and description, separated by a colon. */
function entry(word: string, description: string): string {
  return quoted(`${word.replaceAll(":", "\\:")}:${oneLine(description)}`);
}

function fish(program: Command): string {
  const all = places(program);
  const values = new Map(choices(all));
  const lines = all.flatMap((place) => {
    const condition = quoted(`__posthorn_at ${quoted(place.path)}`);
    return [
      ...place.values.map((value) => `complete -c posthorn -n ${condition} -f -a ${value}`),
      ...place.commands.map(
        (command) =>
          `complete -c posthorn -n ${condition} -f -a ${command.name()} -d ${quoted(oneLine(command.description()))}`,
      ),
      ...place.options.flatMap(({ long, required, description }) => {
        if (long === undefined || long === null) return [];
        const few = values.get(`${place.path} ${long}`.trim());
        const taken = few === undefined ? " -r" : ` -x -a ${quoted(few)}`;
        return [
          `complete -c posthorn -n ${condition} -l ${long.slice(2)}${required ? taken : ""} -d ${quoted(oneLine(description))}`,
        ];
      }),
    ];
  });
  return `# Completion of posthorn for fish: posthorn completion fish
function __posthorn_at
    set -l path
    set -l skip
    for word in (commandline -opc)[2..]
        if set -q skip[1]
            set -e skip[1]
            continue
        end
        switch $word
            case ${withValue(all).join(" ")}
                set skip 1
            case '-*'
            case '*'
                if contains -- (string join ' ' $path $word) ${all.map(({ path }) => quoted(path)).join(" ")}
                    set -a path $word
                end
        end
    end
    test "$path" = "$argv[1]"
end
${lines.join("\n")}
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

const descriptionMax = 80;

function oneLine(text: string): string {
  const [line = ""] = text.replaceAll(/[\\'"`$]/g, "").split("\n");
  return line.length <= descriptionMax ? line : `${line.slice(0, descriptionMax - 1)}…`;
}

const completionScripts = { bash, zsh, fish } as const;

const shells = Object.keys(completionScripts) as (keyof typeof completionScripts)[];

export function addCompletionCommand(program: Command, invocation: Invocation): void {
  program
    .command("completion")
    .description("print a shell completion script")
    .addArgument(new Argument("<shell>", "shell").choices(shells))
    .addHelpText("after", `\n${howTo}`)
    .action((shell: keyof typeof completionScripts) => {
      invocation.terminal(false).data(completionScripts[shell](program).trimEnd());
    });
}

const howTo = `bash  posthorn completion bash > ~/.local/share/bash-completion/completions/posthorn
zsh   posthorn completion zsh > a file named _posthorn in a folder of $fpath
fish  posthorn completion fish > ~/.config/fish/completions/posthorn.fish`;
