import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { callApi, type Query } from "../../shared/api.ts";
import type { BulkStarted } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { copyText } from "../../shared/ui/copy-button.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { mayManage } from "../action-button.tsx";
import {
  bodyOf,
  cancelAction,
  retryAction,
  targetOf,
  type BulkAction,
  type BulkTarget,
} from "../bulk/bulk-actions.ts";
import { BulkButton } from "../bulk/bulk-button.tsx";
import { countText } from "../operations/operation-wording.ts";
import { useBusy } from "../use-busy.ts";
import type { DeliverySelection } from "./delivery-selection.ts";

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
  const copy = () => copyText(ids.join("\n")).then(() => announce(`${ids.length} ids copied`));
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
          Copy ids
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
  /** The count, as text. */
  readonly text: string;
}

/** Requests the count, with the time range fixed to now. */
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
