import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { callApi, type Query } from "../../shared/api.ts";
import { useBusy } from "../../shared/queries.ts";
import type { BulkStarted, Delivery } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { copyText } from "../../shared/ui/copy-button.tsx";
import type { Selection } from "../../shared/ui/data-table.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { mayManage } from "../form/action-button.tsx";
import { countText } from "../operations/operation-wording.ts";
import {
  bodyOf,
  type BulkAction,
  type BulkTarget,
  cancelAction,
  retryAction,
  targetOf,
} from "./bulk-actions.ts";
import { BulkButton } from "./bulk-dialog.tsx";

interface BulkBarProps {
  readonly selection: DeliverySelection;
  /** Filters of the list, for "Select all matching". */
  readonly filters: Query;
  readonly actions?: readonly BulkAction[];
}

/** Maximum ids per call. */
const idsMax = 1_000;

/** Actions for the selected deliveries, or for all that match the filter of the list. */
export function BulkBar({ selection, filters, actions = [retryAction, cancelAction] }: BulkBarProps) {
  const { chosen, clear } = selection;
  const all = useSignal<AllMatching | null>(null);
  useEffect(() => {
    if (chosen.length === 0) all.value = null;
  }, [chosen.length === 0]);
  if (chosen.length === 0) return null;
  const ids = chosen.map(({ id }) => id);
  const targetNow = (): BulkTarget => all.value?.target ?? { ids };
  const isTooMany = all.value === null && ids.length > idsMax;
  const copy = () => copyText(ids.join("\n")).then(() => announce(`${ids.length} IDs copied`));
  return (
    <section class="bulk-bar" aria-label="Selected deliveries">
      <strong>{all.value === null ? `${ids.length} selected` : `All ${all.value.text} matching`}</strong>
      {isTooMany && <span>The limit is {countText(idsMax)}. Select all matching instead.</span>}
      {mayManage() &&
        !isTooMany &&
        actions.map((action, index) => (
          <BulkButton key={action.label} {...{ action, targetNow }} isPrimary={index === 0} />
        ))}
      {mayManage() && all.value === null && (
        <SelectAllMatching
          filters={filters}
          action={actions[0] ?? retryAction}
          found={(matching) => (all.value = matching)}
        />
      )}
      {all.value === null && (
        <button type="button" onClick={() => void copy()}>
          Copy IDs
        </button>
      )}
      <button type="button" class="quiet" onClick={clear}>
        Clear
      </button>
    </section>
  );
}

interface AllMatching {
  readonly target: BulkTarget;
  /** The number of matching deliveries, as text. */
  readonly text: string;
}

/** Requests the number of matching deliveries. An open time range ends at the time of the click. */
function SelectAllMatching(props: {
  readonly filters: Query;
  readonly action: BulkAction;
  readonly found: (matching: AllMatching) => void;
}) {
  const { filters, action, found } = props;
  const { isBusy, error, run } = useBusy();
  const count = async () => {
    const target = targetOf(filters, Date.now());
    const body = { ...bodyOf(action, target), dry_run: true };
    const { value } = await callApi<BulkStarted>({ method: "POST", path: action.path, body });
    const left = Object.values(value.excluded).reduce((sum, one) => sum + one, 0);
    found({ target, text: `${countText(value.count + left)}${value.count_is_exact ? "" : " or more"}` });
  };
  return (
    <>
      <button type="button" disabled={isBusy.value} onClick={() => void run(count)}>
        Select all matching
      </button>
      {error.value !== null && <ErrorNote error={error.value} />}
    </>
  );
}

interface DeliverySelection {
  readonly chosen: readonly Delivery[];
  readonly clear: () => void;
  /** Deselects rows that no longer match the filter. */
  readonly drop: (ids: ReadonlySet<string>) => void;
  /** Selection state for a table with these rows. */
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
  /** Where a range selection starts: the row that was selected last. */
  readonly anchor: string | null;
}

/** The rows from one row to another, inclusive, in either direction. */
function rowsBetween(rows: readonly Delivery[], from: string | null, to: string): readonly Delivery[] {
  const end = rows.findIndex(({ id }) => id === to);
  const start = rows.findIndex(({ id }) => id === from);
  return start < 0 ? rows.slice(end, end + 1) : rows.slice(Math.min(start, end), Math.max(start, end) + 1);
}
