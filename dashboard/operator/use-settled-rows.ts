/** Lists that people read do not move: new rows wait until they are asked for. */
import { useMemo, useRef, useState } from "preact/hooks";

export interface SettledRows<Row> {
  readonly rows: readonly Row[];
  /** How many newer rows there are. */
  readonly waiting: number;
  readonly merge: () => void;
}

/**
 * `fresh` is the first page as it is now. Rows in view stay where they are and change in place; others wait until `merge`.
 * Another list, told by `key`, begins anew; a short one takes what comes, because nobody has a place in it to lose.
 */
export function useSettledRows<Row extends { readonly id: string }>(
  fresh: readonly Row[] | null,
  { key, isFollowing }: { readonly key: string; readonly isFollowing: boolean },
): SettledRows<Row> {
  const shown = useRef<{ key: string; rows: readonly Row[] }>({ key: "", rows: [] });
  const [, render] = useState(0);
  return useMemo(() => {
    const rows = fresh ?? [];
    const isNew = shown.current.key !== key || shown.current.rows.length < shortList;
    if (isFollowing || isNew) shown.current = { key: fresh === null ? "" : key, rows };
    const freshById = new Map(rows.map((row) => [row.id, row]));
    const known = new Set(shown.current.rows.map(({ id }) => id));
    const settled = shown.current.rows.map((row) => freshById.get(row.id) ?? row);
    shown.current = { ...shown.current, rows: settled };
    const firstKnown = rows.findIndex(({ id }) => known.has(id));
    return {
      rows: settled,
      waiting: firstKnown < 0 ? rows.length : firstKnown,
      merge: () => {
        shown.current = { key: "", rows: [] };
        render((count) => count + 1);
      },
    };
  }, [fresh, key, isFollowing, shown.current.key]);
}

const shortList = 8;
