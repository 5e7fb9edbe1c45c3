/** A shell command or a part of one, safely quoted. */
export class ShellText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Builds a shell command. Strings are quoted as one word each; `ShellText` values are inserted unchanged. */
export function shell(parts: TemplateStringsArray, ...values: readonly (string | ShellText)[]): ShellText {
  const words = values.map((value) => (value instanceof ShellText ? value.text : shellWord(value)));
  return new ShellText(String.raw({ raw: parts }, ...words));
}

/** Shell words, each with a leading space. */
export function shellWords(words: readonly string[]): ShellText {
  return new ShellText(words.map((word) => ` ${shellWord(word)}`).join(""));
}

/** Options, each with a leading space. The value is null for options that do not take one. */
export function shellOptions(options: readonly (readonly [name: string, value: string | null])[]): ShellText {
  const texts = options.map(([name, value]) => ` --${name}${value === null ? "" : ` ${shellWord(value)}`}`);
  return new ShellText(texts.join(""));
}

/** Quotes a string as one shell word. zsh expands a leading `=` to a program path. */
export function shellWord(text: string): string {
  return /^[\w./:@-][\w./:=@-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
