/** One requirement of a source document, summarized. */
export interface RequirementRow {
  /** Document, then the row: `EDS-9.4-1`. */
  readonly id: string;
  /** P producer, C consumer, I intermediary, API, Ops; `all`, or `-` for none. */
  readonly role: string;
  /** The key word of RFC 2119, `design` for a concrete design without one, `info` for what is not normative. */
  readonly level: string;
  readonly text: string;
}

/** Reads lines of the form `id | role | level | text`; throws when one is not of that form. */
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
