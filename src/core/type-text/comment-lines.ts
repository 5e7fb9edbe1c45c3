const columnsMax = 110;

/** A comment for editors, or nothing. The text is user input, so it must not be able to end the comment. */
export function commentLines(paragraphs: readonly string[], margin: string): string {
  const lines = paragraphs
    .flatMap((text) => text.replaceAll("*/", "*\\/").split("\n"))
    .flatMap((line) => wrapped(line.trim(), columnsMax - margin.length - " * ".length));
  if (lines.length === 0) return "";
  if (lines.length === 1) return `${margin}/** ${lines[0] ?? ""} */\n`;
  const inner = lines.map((line) => `${margin} * ${line}`.trimEnd());
  return [`${margin}/**`, ...inner, `${margin} */`, ""].join("\n");
}

function wrapped(line: string, columns: number): readonly string[] {
  const rows: string[] = [];
  let row = "";
  for (const word of line.split(/\s+/)) {
    if (row !== "" && row.length + 1 + word.length > columns) {
      rows.push(row);
      row = word;
    } else row = row === "" ? word : `${row} ${word}`;
  }
  return row === "" ? rows : [...rows, row];
}
