import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { ActionButton } from "../action-button.tsx";
import { ReasonField } from "../reason-field.tsx";
import { UntilField, type Until } from "../until-field.tsx";

/** Holds a webhook's deliveries back; events published meanwhile are kept. */
export function PauseButton({ path }: { readonly path: string }) {
  const isAsking = useSignal(false);
  const close = () => (isAsking.value = false);
  return (
    <>
      <button type="button" data-command="Pause…" onClick={() => (isAsking.value = true)}>
        Pause…
      </button>
      {isAsking.value && (
        <Modal title="Pause this webhook?" onClose={close}>
          <PauseForm path={path} close={close} />
        </Modal>
      )}
    </>
  );
}

function PauseForm({ path, close }: { readonly path: string; readonly close: () => void }) {
  const until = useSignal<Until>(null);
  const reason = useSignal("");
  const pause = async () => {
    const body = {
      ...(typeof until.value === "number" && { until: new Date(until.value).toISOString() }),
      ...(reason.value.trim() !== "" && { reason: reason.value.trim() }),
    };
    await callApi({ method: "POST", path: `${path}/pause`, body });
    close();
  };
  return (
    <div class="form">
      <p>Events go on being kept and are sent when the pause ends.</p>
      <UntilField choose={(chosen) => (until.value = chosen)} />
      <ReasonField reason={reason} />
      <ActionButton
        label="Pause"
        isPrimary
        isDisabled={until.value === undefined}
        run={pause}
        done="Paused"
      />
    </div>
  );
}
