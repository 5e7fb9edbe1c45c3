/** One requirement of a source document, summarized. */
export interface RequirementRow {
  /** The document and the row: `EDS-9.4-1`. */
  readonly id: string;
  /** P is a producer, C a consumer, I an intermediary; also API and Ops. `all` means every role, `-` none. */
  readonly role: string;
  /** The RFC 2119 keyword; `design` for a concrete design without a keyword; `info` for non-normative text. */
  readonly level: string;
  readonly text: string;
}

/** Parses lines of the form `id | role | level | text`; throws if a line has a different form. */
export function readRows(lines: string): readonly RequirementRow[] {
  return lines
    .trim()
    .split("\n")
    .map((line) => {
      const [id, role, level, text, ...more] = line.split(" | ");
      if (id === undefined || role === undefined || level === undefined || text === undefined)
        throw new Error(`not a row: ${line}`);
      if (more.length > 0) throw new Error(`too many columns: ${line}`);
      return { id, role, level, text };
    });
}
