import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import type { Alert, AlertRule } from "../../shared/resources.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { ActionButton } from "../action-button.tsx";
import { ReasonField } from "../reason-field.tsx";
import { UntilField, type Until } from "../until-field.tsx";

/** Nobody is told of it for a while, also when it ends and begins again. */
export function MuteAlert({ alert }: { readonly alert: Alert }) {
  const isAsking = useSignal(false);
  const close = () => (isAsking.value = false);
  if (alert.state === "resolved") return null;
  return (
    <>
      <button type="button" aria-label={`Mute ${alert.title}…`} onClick={() => (isAsking.value = true)}>
        Mute…
      </button>
      {isAsking.value && (
        <Modal title="Mute this alert?" onClose={close}>
          <MuteForm id={alert.id} close={close} />
        </Modal>
      )}
    </>
  );
}

function MuteForm({ id, close }: { readonly id: string; readonly close: () => void }) {
  const until = useSignal<Until>(null);
  const reason = useSignal("");
  const mute = async () => {
    await callApi({
      method: "POST",
      path: `v1/alerts/${id}/mute`,
      body: {
        until: new Date(until.value ?? 0).toISOString(),
        reason: reason.value.trim() === "" ? null : reason.value.trim(),
      },
    });
    close();
  };
  return (
    <div class="form">
      <p>Choose when the mute ends. What still fires then is told then.</p>
      <UntilField choose={(chosen) => (until.value = chosen)} />
      <ReasonField reason={reason} />
      <ActionButton
        label="Mute"
        isPrimary
        isDisabled={typeof until.value !== "number"}
        run={mute}
        done="Muted"
      />
    </div>
  );
}

/** Whether a rule is looked at; those of people can be taken away. */
export function RuleSwitch({ rule }: { readonly rule: AlertRule }) {
  const path = `v1/alert-rules/${rule.name}`;
  const enabled = !rule.enabled;
  return (
    <div class="actions">
      <ActionButton
        label={`Switch ${enabled ? "on" : "off"} ${rule.name}`}
        run={() => callApi({ method: "PUT", path, body: { enabled } })}
        done={enabled ? "It is looked at" : "It is not looked at"}
      />
      {!rule.is_default && (
        <ActionButton
          label={`Delete ${rule.name}`}
          run={() => callApi({ method: "DELETE", path })}
          done="Deleted"
        />
      )}
    </div>
  );
}
