import { shellWord } from "../../shared/shell-word.ts";

/** By member of the API: the option that sets it, and what stands behind it; null for what the option cannot say. */
export type CommandOptions = Readonly<
  Record<string, readonly [option: string, textOf: (value: unknown) => string | null]>
>;

/** The command that changes the same; null where one of the members has no option for it. */
export function changeCommand(
  command: string,
  { body, options }: { readonly body: Readonly<Record<string, unknown>>; readonly options: CommandOptions },
): string | null {
  const words = Object.entries(body).map(([name, value]) => {
    const [option, textOf] = options[name] ?? ["", () => null];
    const text = textOf(value);
    return text === null ? null : `${option} ${shellWord(text)}`;
  });
  return words.includes(null) ? null : [command, ...words].join(" ");
}
