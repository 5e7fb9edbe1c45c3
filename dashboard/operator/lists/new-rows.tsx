/** Rows of a list that does not shift while the user reads it: new rows wait until the user requests them. */
import { signal } from "@preact/signals";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Loaded } from "../../shared/queries.ts";
import type { Page } from "../../shared/resources.ts";
import { CheckBox } from "../../shared/ui/field.tsx";

/** While true, new rows are added to lists automatically. */
export const isFollowing = signal(false);

/** Button that shows new rows, and the checkbox to follow them automatically. */
export function NewRows(
  props: Pick<SettledRows<never>, "waiting" | "merge"> & { readonly pageSize: number },
) {
  const { waiting, merge, pageSize } = props;
  return (
    <>
      {waiting > 0 && (
        <button type="button" onClick={merge}>
          {waiting >= pageSize ? `${pageSize} or more` : waiting} new
        </button>
      )}
      <CheckBox
        label="follow"
        isChecked={isFollowing.value}
        onChange={(isChecked) => (isFollowing.value = isChecked)}
      />
    </>
  );
}

interface SettledRows<Row> {
  readonly rows: readonly Row[];
  /** Rows that still match; only these can be selected. Empty while a new query is loading. */
  readonly matching: readonly Row[];
  /** Ids of visible rows that no longer match. */
  readonly gone: ReadonlySet<string>;
  /** Number of new rows of the same query that are not shown yet. */
  readonly waiting: number;
  readonly merge: () => void;
  /** The page after which older rows are loaded. Null until the first response. */
  readonly page: Page<Row> | null;
  /** Changes when older rows must be loaded again. */
  readonly pageKey: string;
}

interface Shown<Row> {
  readonly key: string | null;
  readonly rows: readonly Row[];
  readonly page: Page<Row> | null;
  readonly round: number;
}

/**
 * `loaded` is the current first page, and `key` identifies its query. Visible rows are updated in place. New rows of
 * the same query are held back until `merge` is called, unless `takesAll` is set. A response to a different query
 * replaces all rows. A short list shows new rows immediately, because users do not lose their place in it.
 */
export function useSettledRows<Row extends { readonly id: string }>(
  loaded: Pick<Loaded<Page<Row>>, "data" | "isOld">,
  key: string,
  takesAll: boolean,
): SettledRows<Row> {
  const { data, isOld } = loaded;
  const shown = useRef<Shown<Row>>({ key: null, rows: [], page: null, round: 0 });
  const [, render] = useState(0);
  return useMemo(() => {
    const merge = () => {
      shown.current = { ...shown.current, key: null };
      render((count) => count + 1);
    };
    if (isOld) return { ...awaited, rows: shown.current.rows, page: shown.current.page, merge, pageKey: key };
    shown.current = settle(shown.current, data, key, takesAll);
    const { rows, page, round } = shown.current;
    const { gone, waiting } = compare(rows, data);
    const matching = rows.filter(({ id }) => !gone.has(id));
    return { rows, matching, gone, waiting, merge, page, pageKey: `${round} ${key}` };
  }, [data, isOld, key, takesAll, shown.current.key]);
}

const awaited = { matching: [], gone: new Set<string>(), waiting: 0 } as const;

function settle<Row extends { readonly id: string }>(
  shown: Shown<Row>,
  data: Page<Row> | null,
  key: string,
  takesAll: boolean,
): Shown<Row> {
  if (data === null) return { key: null, rows: [], page: null, round: shown.round };
  if (shown.key !== key) return { key, rows: data.data, page: data, round: shown.round + 1 };
  if (takesAll || shown.rows.length < shortList || data.data.length === 0)
    return { ...shown, rows: data.data, page: data };
  const fresh = new Map(data.data.map((row) => [row.id, row]));
  return { ...shown, rows: shown.rows.map((row) => fresh.get(row.id) ?? row) };
}

/** Compares only up to the last common row. Rows after it may only have moved to or from the next page. */
function compare<Row extends { readonly id: string }>(
  rows: readonly Row[],
  page: Page<Row> | null,
): Pick<SettledRows<Row>, "gone" | "waiting"> {
  const fresh = page?.data ?? [];
  const freshIds = new Set(fresh.map(({ id }) => id));
  const known = new Set(rows.map(({ id }) => id));
  const isWhole = page !== null && page.next_cursor === null;
  const lastFound = isWhole ? rows.length : rows.findLastIndex(({ id }) => freshIds.has(id));
  const lastKnown = fresh.findLastIndex(({ id }) => known.has(id));
  const gone = rows.slice(0, Math.max(0, lastFound)).filter(({ id }) => !freshIds.has(id));
  const before = lastKnown < 0 ? fresh : fresh.slice(0, lastKnown);
  return {
    gone: new Set(gone.map(({ id }) => id)),
    waiting: before.filter(({ id }) => !known.has(id)).length,
  };
}

const shortList = 8;
