import { useSignal } from "@preact/signals";
import { ApiError, callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { Delivery } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { copyText } from "../../shared/ui/copy-button.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { mayManage } from "../action-button.tsx";
import type { DeliverySelection } from "./delivery-selection.ts";
import { wordsOf } from "./wording.ts";

/** What can be done with the chosen deliveries. */
export function BulkBar({ selection }: { readonly selection: DeliverySelection }) {
  const { chosen, clear } = selection;
  const isRetrying = useSignal(false);
  if (chosen.length === 0) return null;
  const copy = () =>
    copyText(chosen.map(({ id }) => id).join("\n")).then(() => announce(`${chosen.length} ids copied`));
  return (
    <section class="bulk-bar" aria-label="Selected deliveries">
      <strong>{chosen.length} selected</strong>
      {mayManage() && (
        <button type="button" class="primary" onClick={() => (isRetrying.value = true)}>
          Retry…
        </button>
      )}
      <button type="button" onClick={() => void copy()}>
        Copy ids
      </button>
      <button type="button" class="quiet" onClick={clear}>
        Clear
      </button>
      {isRetrying.value && <RetryDialog chosen={chosen} close={() => (isRetrying.value = false)} />}
    </section>
  );
}

interface Progress {
  readonly done: number;
  readonly refused: readonly string[];
}

const inFlightMax = 4;
const samplesMax = 5;

function RetryDialog({
  chosen,
  close,
}: {
  readonly chosen: readonly Delivery[];
  readonly close: () => void;
}) {
  const progress = useSignal<Progress | null>(null);
  const retryable = chosen.filter((delivery) => whyNot(delivery) === null);
  const left = Map.groupBy(
    chosen.filter((delivery) => whyNot(delivery) !== null),
    whyNot,
  );
  const isOver = progress.value?.done === retryable.length;
  const run = async () => {
    progress.value = { done: 0, refused: [] };
    const queue = [...retryable];
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const refusal = await retried(next);
        const { done, refused } = progress.value ?? { done: 0, refused: [] };
        progress.value = { done: done + 1, refused: refusal === null ? refused : [...refused, refusal] };
      }
    };
    await Promise.all(Array.from({ length: inFlightMax }, work));
    const { refused } = progress.value;
    announce(`${retryable.length - refused.length} retried, ${refused.length} refused`);
    await refreshAll();
  };
  return (
    <Modal title={`Retry ${countOf(retryable.length)}?`} onClose={close}>
      <ul class="samples">
        {retryable.slice(0, samplesMax).map(({ id, event_type, status, webhook }) => (
          <li key={id}>
            {event_type}, {wordsOf(status).text}{" "}
            {webhook !== undefined && webhook !== null && `, to ${webhook.url}`}
          </li>
        ))}
        {retryable.length > samplesMax && <li>and {retryable.length - samplesMax} more</li>}
      </ul>
      {[...left].map(([why, rows]) => (
        <p key={why} class="soft">
          {countOf(rows.length)} will not be touched: {why}.
        </p>
      ))}
      {progress.value === null ? (
        <button type="button" class="primary" disabled={retryable.length === 0} onClick={() => void run()}>
          Retry {retryable.length}
        </button>
      ) : (
        <>
          <progress aria-label="Retried" max={retryable.length} value={progress.value.done} />
          <p role="status">
            {progress.value.done} of {retryable.length} done, {progress.value.refused.length} refused.
          </p>
          <ul>
            {[...new Set(progress.value.refused)].map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
          {isOver && (
            <button type="button" onClick={close}>
              Close
            </button>
          )}
        </>
      )}
    </Modal>
  );
}

/** Why a retry leaves a delivery alone; null where it does not. */
function whyNot({ status, waiting_for, superseded_by }: Delivery): string | null {
  if (superseded_by !== null) return "a newer retry took its place";
  if (waiting_for === "in_flight") return "a request is on its way";
  return status === "pending" ? "its first attempt is still to come" : null;
}

/** Null, or why the server refused. */
async function retried({ id, webhook_id }: Delivery): Promise<string | null> {
  try {
    await callApi({ method: "POST", path: `v1/webhooks/${webhook_id}/deliveries/${id}/retry`, body: {} });
    return null;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.message;
  }
}

function countOf(count: number): string {
  return `${count} ${count === 1 ? "delivery" : "deliveries"}`;
}
