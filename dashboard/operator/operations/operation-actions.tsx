import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import type { Operation } from "../../shared/resources.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { ActionButton } from "../action-button.tsx";

/** Pauses, goes on, changes the rate, cancels. */
export function OperationActions({ operation }: { readonly operation: Operation }) {
  const path = `v1/operations/${operation.id}`;
  const change = (body: object) => callApi({ method: "PATCH", path, body });
  return (
    <div class="actions">
      {operation.status === "paused" ? (
        <ActionButton
          label="Go on"
          isPrimary
          run={() => change({ status: "running" })}
          done="The operation goes on"
        />
      ) : (
        <ActionButton label="Pause" run={() => change({ status: "paused" })} done="The operation is paused" />
      )}
      <RateForm key={operation.requests_per_second} operation={operation} change={change} />
      <CancelButton path={path} />
    </div>
  );
}

function RateForm(props: {
  readonly operation: Operation;
  readonly change: (body: object) => Promise<unknown>;
}) {
  const rate = useSignal(props.operation.requests_per_second);
  const id = useId();
  return (
    <>
      <label for={id}>A second at most</label>
      <input
        id={id}
        class="rate"
        type="number"
        min="0.1"
        step="any"
        value={rate.value}
        onInput={({ currentTarget }) => (rate.value = currentTarget.valueAsNumber)}
      />
      <ActionButton
        label="Change the rate"
        run={() => props.change({ rate_limit: { requests_per_second: rate.value } })}
        done="The rate is changed"
      />
    </>
  );
}

function CancelButton({ path }: { readonly path: string }) {
  const isAsking = useSignal(false);
  return (
    <>
      <button type="button" data-command="Cancel…" onClick={() => (isAsking.value = true)}>
        Cancel…
      </button>
      {isAsking.value && (
        <Modal title="Cancel this operation?" onClose={() => (isAsking.value = false)}>
          <p>What it has done so far stays done: what it has queued is delivered.</p>
          <ActionButton
            label="Cancel the operation"
            isPrimary
            run={async () => {
              await callApi({ method: "DELETE", path });
              isAsking.value = false;
            }}
            done="Cancelled"
          />
        </Modal>
      )}
    </>
  );
}
