import { shell, shellOptions, type ShellText } from "../../shared/shell-text.ts";

/** Maps an API member to the CLI options that set it. Null if no option can express the value. */
export type CommandOptions = Readonly<
  Record<string, (value: unknown) => readonly (readonly [option: string, value: string])[] | null>
>;

/** Equivalent CLI command. Null if a member has no option. */
export function changeCommand(
  command: ShellText,
  { body, options }: { readonly body: Readonly<Record<string, unknown>>; readonly options: CommandOptions },
): ShellText | null {
  const said = Object.entries(body).map(([name, value]) => options[name]?.(value) ?? null);
  const all = said.filter((one) => one !== null);
  return all.length < said.length ? null : shell`${command}${shellOptions(all.flat())}`;
}
