import { shell, shellOptions, type ShellText } from "../../shared/shell-text.ts";

/** By member of the API: the options that set it, with their values; null for what no option can say. */
export type CommandOptions = Readonly<
  Record<string, (value: unknown) => readonly (readonly [option: string, value: string])[] | null>
>;

/** The command that changes the same; null where one of the members has no option for it. */
export function changeCommand(
  command: ShellText,
  { body, options }: { readonly body: Readonly<Record<string, unknown>>; readonly options: CommandOptions },
): ShellText | null {
  const said = Object.entries(body).map(([name, value]) => options[name]?.(value) ?? null);
  const all = said.filter((one) => one !== null);
  return all.length < said.length ? null : shell`${command}${shellOptions(all.flat())}`;
}
