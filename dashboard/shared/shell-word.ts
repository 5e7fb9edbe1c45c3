/** A text as one word of a command, for a shell. */
export function shellWord(text: string): string {
  return /^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
