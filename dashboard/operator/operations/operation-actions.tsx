import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import type { Operation } from "../../shared/resources.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { ActionButton } from "../action-button.tsx";

export function OperationActions({ operation }: { readonly operation: Operation }) {
  const path = `v1/operations/${operation.id}`;
  const change = (body: object) => callApi({ method: "PATCH", path, body });
  return (
    <div class="actions">
      {operation.status === "paused" ? (
        <ActionButton
          label="Resume"
          isPrimary
          run={() => change({ status: "running" })}
          done="Operation resumed"
        />
      ) : (
        <ActionButton label="Pause" run={() => change({ status: "paused" })} done="Operation paused" />
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
      <label for={id}>Deliveries per second</label>
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
        label="Change rate"
        run={() => props.change({ rate_limit: { requests_per_second: rate.value } })}
        done="Rate changed"
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
          <p>Completed work is not undone. Deliveries that were already queued are still sent.</p>
          <ActionButton
            label="Cancel operation"
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
