/** Entries of the palette, and their search. */

export interface PaletteEntry {
  readonly id: string;
  readonly group: "Found" | "Pages" | "On this page" | "Commands";
  readonly title: string;
  /** Shown next to the title: the kind of entry, or its shortcut. */
  readonly hint: string;
  readonly run: () => void;
}

/**
 * Entries that contain every word of the text, in any order and letter case. Entries whose title starts with the text
 * come first. Otherwise the order is unchanged.
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

/** Index after a step, wrapping around at the ends. */
export function steppedIndex(
  index: number,
  { by, count }: { readonly by: number; readonly count: number },
): number {
  return count === 0 ? 0 : (index + by + count) % count;
}
