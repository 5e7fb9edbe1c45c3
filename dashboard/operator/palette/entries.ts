/** What the palette offers, and how it is narrowed by what somebody types. */

export interface PaletteEntry {
  readonly id: string;
  readonly group: "Found" | "Pages" | "On this page" | "Commands";
  readonly title: string;
  /** Beside the title, softer: what kind it is, or the key that does the same. */
  readonly hint: string;
  readonly run: () => void;
}

/**
 * The entries that hold every word of the text, in any order; capital letters do not count. Those whose title begins with
 * the text come first, otherwise the order stays.
 */
export function entriesMatching(entries: readonly PaletteEntry[], text: string): readonly PaletteEntry[] {
  const given = text.trim().toLowerCase();
  const words = given.split(/\s+/);
  const matching = entries.filter(({ title, group }) =>
    words.every((word) => `${title} ${group}`.toLowerCase().includes(word)),
  );
  if (given === "") return matching;
  const rank = ({ title }: PaletteEntry) => (title.toLowerCase().startsWith(given) ? 0 : 1);
  return matching.toSorted((left, right) => rank(left) - rank(right));
}

/** The index that an arrow leads to: around the ends. */
export function steppedIndex(
  index: number,
  { by, count }: { readonly by: number; readonly count: number },
): number {
  return count === 0 ? 0 : (index + by + count) % count;
}
