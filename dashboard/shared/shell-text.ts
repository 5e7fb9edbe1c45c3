/** A command or a part of one. A shell reads each word again as it was meant, whatever stands in it. */
export class ShellText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A text is one word of it; what is a part of a command already stays as it is. */
export function shell(parts: TemplateStringsArray, ...values: readonly (string | ShellText)[]): ShellText {
  const words = values.map((value) => (value instanceof ShellText ? value.text : shellWord(value)));
  return new ShellText(String.raw({ raw: parts }, ...words));
}

/** Each after a space. */
export function shellWords(words: readonly string[]): ShellText {
  return new ShellText(words.map((word) => ` ${shellWord(word)}`).join(""));
}

/** Options of a command and their values, each after a space; null where the option says all. */
export function shellOptions(options: readonly (readonly [name: string, value: string | null])[]): ShellText {
  const texts = options.map(([name, value]) => ` --${name}${value === null ? "" : ` ${shellWord(value)}`}`);
  return new ShellText(texts.join(""));
}

/** A text as one word of a command, for a shell. zsh takes `=` at the beginning for the path of a program. */
export function shellWord(text: string): string {
  return /^[\w./:@-][\w./:=@-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
