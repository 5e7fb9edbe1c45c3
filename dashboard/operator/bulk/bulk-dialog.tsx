import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { plural } from "../../shared/format.ts";
import { useBusy } from "../../shared/queries.ts";
import type { BulkStarted } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { CheckBox, SelectField, TextField } from "../../shared/ui/field.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { wordsOf } from "../delivery/wording.ts";
import { ActionButton } from "../form/action-button.tsx";
import {
  countText,
  deliveriesText,
  estimateText,
  exclusionsOf,
  filterTexts,
} from "../operations/operation-wording.ts";
import { bodyOf, type BulkAction, type BulkTarget, commandOf, phraseFor, startOf } from "./bulk-actions.ts";

/** Opens the preview of a bulk action. The target is determined when the button is clicked. */
export function BulkButton(props: {
  readonly action: BulkAction;
  readonly targetNow: () => BulkTarget;
  readonly isPrimary?: boolean;
}) {
  const { action, targetNow, isPrimary = false } = props;
  const target = useSignal<BulkTarget | null>(null);
  const label = `${action.label}…`;
  return (
    <>
      <button
        type="button"
        class={isPrimary ? "primary" : undefined}
        data-command={label}
        onClick={() => (target.value = targetNow())}
      >
        {label}
      </button>
      {target.value !== null && (
        <BulkDialog action={action} target={target.value} close={() => (target.value = null)} />
      )}
    </>
  );
}

interface BulkDialogProps {
  readonly action: BulkAction;
  /** Contains fixed timestamps, so that the count and the action cover the same deliveries. */
  readonly target: BulkTarget;
  readonly close: () => void;
}

/** Shows a dry run with its count, then starts the operation and opens its page. */
function BulkDialog({ action, target, close }: BulkDialogProps) {
  const counted = useSignal<BulkStarted | null>(null);
  const { error, run } = useBusy();
  useEffect(() => {
    const body = { ...bodyOf(action, target), dry_run: true };
    void run(async () => {
      counted.value = (await callApi<BulkStarted>({ method: "POST", path: action.path, body })).value;
    });
  }, []);
  const count = counted.value?.count ?? null;
  return (
    <Modal
      title={count === null ? `${action.label}…` : `${action.label} ${deliveriesText(count)}?`}
      onClose={close}
    >
      {error.value !== null && <ErrorNote error={error.value} />}
      {counted.value === null && error.value === null && <p role="status">Counting…</p>}
      {counted.value !== null && (
        <>
          <Preview counted={counted.value} />
          <Start action={action} target={target} counted={counted.value} />
        </>
      )}
    </Modal>
  );
}

function Preview({ counted }: { readonly counted: BulkStarted }) {
  const { count, count_is_exact, samples, excluded, filter } = counted;
  return (
    <>
      <p class="soft">{filterTexts(filter).join("; ")}</p>
      <p>
        <strong>
          {countText(count)}
          {count_is_exact ? " (exact)" : " or more"}
        </strong>
        .
      </p>
      {samples.length > 0 && (
        <ul class="samples" aria-label="Oldest deliveries">
          {samples.map(({ id, event_type, status, webhook }) => (
            <li key={id}>
              {event_type}, {wordsOf(status).text}
              {webhook !== undefined && webhook !== null && `, to ${webhook.url}`}
            </li>
          ))}
          {(count > samples.length || !count_is_exact) && <li>and more</li>}
        </ul>
      )}
      {exclusionsOf(excluded).map((reason) => (
        <p key={reason.text} class="soft">
          {deliveriesText(reason.count)} will be skipped: {reason.text}.
        </p>
      ))}
    </>
  );
}

function Start(props: {
  readonly action: BulkAction;
  readonly target: BulkTarget;
  readonly counted: BulkStarted;
}) {
  const { action, target, counted } = props;
  const { go } = useAddress();
  const rate = useSignal(String(counted.requests_per_second));
  const typed = useSignal("");
  const phrase = phraseFor(action, counted);
  const priority = useSignal("");
  const closesCircuits = useSignal(false);
  const perSecond = Number(rate.value);
  const choice = {
    perSecond,
    priority: priority.value === "" ? null : priority.value,
    closesCircuits: closesCircuits.value,
  };
  const body = startOf(action, target, choice);
  if (counted.count === 0) return <p>Nothing to do.</p>;
  return (
    <div class="form">
      <TextField
        label="Deliveries per second"
        value={rate}
        type="number"
        min="0.1"
        step="any"
        note={perSecond > 0 && `Takes ${estimateText(secondsOf(counted, perSecond))}.`}
      />
      {action.hasPriority && <SelectField label="Priority" value={priority} options={priorities} />}
      <OpenCircuits circuits={counted.open_circuits} isChosen={closesCircuits} />
      {phrase !== null && (
        <TextField label={`Type “${phrase}” to confirm`} value={typed} autocomplete="off" />
      )}
      <div class="actions">
        <ActionButton
          label={`${action.label} ${countText(counted.count)}`}
          isPrimary
          isDisabled={!(perSecond > 0) || (phrase !== null && typed.value.trim() !== phrase)}
          run={async () => {
            const { value } = await callApi<BulkStarted>({ method: "POST", path: action.path, body });
            go(pagePath(`operations/${value.batch_operation_id ?? ""}`));
          }}
          done="Operation started"
        />
        <AsApi
          what={action.label}
          twin={{ method: "POST", path: action.path, body, cli: commandOf(action, target, choice) }}
        />
      </div>
    </div>
  );
}

/** Offers to close open circuits, because retried deliveries would only wait behind them. */
export function OpenCircuits(props: {
  readonly circuits: BulkStarted["open_circuits"];
  readonly isChosen: Signal<boolean>;
}) {
  const { circuits, isChosen } = props;
  const held = circuits.reduce((sum, { count }) => sum + count, 0);
  if (held === 0) return null;
  const where =
    circuits.length === 1
      ? "the open circuit of their webhook"
      : `the open circuits of ${countText(circuits.length)} webhooks`;
  return (
    <div class="note" role="status">
      <p>
        {deliveriesText(held)} will wait behind {where}.
      </p>
      <CheckBox
        label={`Close ${plural(circuits.length, "the circuit", "the circuits")} first`}
        isChecked={isChosen.value}
        onChange={(isChecked) => (isChosen.value = isChecked)}
      />
    </div>
  );
}

/** Estimated duration in seconds. Null if the count is inexact. */
function secondsOf({ count, count_is_exact }: BulkStarted, perSecond: number): number | null {
  return count_is_exact ? count / perSecond : null;
}

const priorities = [
  ["", "unchanged"],
  ["high", "high"],
  ["normal", "normal"],
  ["low", "low"],
] as const;
