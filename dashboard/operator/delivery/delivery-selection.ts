/** Selected deliveries of a list. */
import { useSignal } from "@preact/signals";
import type { Delivery } from "../../shared/resources.ts";
import type { Selection } from "../../shared/ui/data-table.tsx";

export interface DeliverySelection {
  readonly chosen: readonly Delivery[];
  readonly clear: () => void;
  /** Deselects rows that no longer match the filter. */
  readonly drop: (ids: ReadonlySet<string>) => void;
  /** Selection of a table with these rows. */
  readonly of: (rows: readonly Delivery[]) => Selection;
}

/** The selection is cleared when `key` changes, because it belongs to one list. */
export function useDeliverySelection(key: string): DeliverySelection {
  const state = useSignal<State>({ key, chosen: new Map(), anchor: null });
  const { chosen, anchor }: Pick<State, "chosen" | "anchor"> =
    state.value.key === key ? state.value : { chosen: new Map(), anchor: null };
  const change = (next: ReadonlyMap<string, Delivery>, at: string | null) =>
    (state.value = { key, chosen: next, anchor: at });
  return {
    chosen: [...chosen.values()],
    clear: () => change(new Map(), null),
    drop: (ids) => {
      const rest = [...chosen].filter(([id]) => !ids.has(id));
      if (rest.length < chosen.size) change(new Map(rest), anchor);
    },
    of: (rows) => ({
      has: (id) => chosen.has(id),
      nameOf: (id) => `${rows.find((row) => row.id === id)?.event_type ?? ""} ${id.slice(-6)}`,
      toggle: (id, { isRange }) => {
        const isOn = !chosen.has(id);
        const next = new Map(chosen);
        for (const row of isRange ? rowsBetween(rows, anchor, id) : rows.filter((one) => one.id === id)) {
          if (isOn) next.set(row.id, row);
          else next.delete(row.id);
        }
        change(next, id);
      },
      toggleAll: () => {
        const areAllOn = rows.every(({ id }) => chosen.has(id));
        const others = [...chosen].filter(([id]) => !rows.some((row) => row.id === id));
        change(new Map([...others, ...(areAllOn ? [] : rows.map((row) => [row.id, row] as const))]), null);
      },
    }),
  };
}

interface State {
  readonly key: string;
  readonly chosen: ReadonlyMap<string, Delivery>;
  /** Start of a range selection: the last selected row. */
  readonly anchor: string | null;
}

/** Rows between two rows, inclusive, in either order. */
function rowsBetween(
  rows: readonly Delivery[],
  ...[from, to]: readonly [string | null, string]
): readonly Delivery[] {
  const end = rows.findIndex(({ id }) => id === to);
  const start = rows.findIndex(({ id }) => id === from);
  return start < 0 ? rows.slice(end, end + 1) : rows.slice(Math.min(start, end), Math.max(start, end) + 1);
}
