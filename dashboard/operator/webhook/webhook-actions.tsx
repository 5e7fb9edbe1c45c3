import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import { useAddress } from "../../shared/address.ts";
import type { Webhook, WebhookHealth } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";
import { PauseButton } from "./pause-button.tsx";
import { RecoverButton } from "./recover-button.tsx";
import { RotateButton } from "./rotate-button.tsx";

export function WebhookActions(props: { readonly webhook: Webhook; readonly health: WebhookHealth | null }) {
  const { webhook, health } = props;
  const { go } = useAddress();
  const path = `v1/webhooks/${webhook.id}`;
  const post = (action: string) => () => callApi({ method: "POST", path: `${path}/${action}`, body: {} });
  if (!mayManage()) return null;
  return (
    <div class="actions">
      <ActionButton
        label="Send test"
        run={async () => {
          const { value } = await callApi<{ readonly delivery_id: string }>({
            method: "POST",
            path: `${path}/test`,
            body: {},
          });
          go(pagePath(`deliveries/${value.delivery_id}`));
        }}
        done="Sent"
      />
      <a class="button" href={pagePath(`webhooks/${webhook.id}/edit`)} data-command="Edit">
        Edit
      </a>
      {webhook.active ? (
        <DisableButton run={post("disable")} />
      ) : (
        <ActionButton label="Enable" isPrimary run={post("enable")} done="Enabled" />
      )}
      {webhook.pause === null && webhook.active && <PauseButton path={path} />}
      {(webhook.pause !== null || (health !== null && health.paused_until !== null)) && (
        <ActionButton label="Resume" run={post("resume")} done="Resumed" />
      )}
      {health !== null && <CircuitButton path={path} health={health} />}
      <RotateButton path={path} />
      <RecoverButton path={path} />
    </div>
  );
}

function CircuitButton({ path, health }: { readonly path: string; readonly health: WebhookHealth }) {
  const change = (action: string) => () =>
    callApi({ method: "PATCH", path: `${path}/circuit-breaker`, body: { action } });
  if (health.circuit_breaker.state === "closed") {
    return <ActionButton label="Open circuit for 1 hour" run={change("force_open")} done="Circuit opened" />;
  }
  return <ActionButton label="Close circuit" run={change("reset")} done="Circuit closed" />;
}

function DisableButton({ run }: { readonly run: () => Promise<unknown> }) {
  const isAsking = useSignal(false);
  return (
    <>
      <button type="button" data-command="Disable…" onClick={() => (isAsking.value = true)}>
        Disable…
      </button>
      {isAsking.value && (
        <Modal title="Disable this webhook?" onClose={() => (isAsking.value = false)}>
          <p>
            Waiting deliveries stay queued. Events published while the webhook is disabled are skipped.
            Recover the webhook to send them.
          </p>
          <ActionButton
            label="Disable"
            isPrimary
            run={async () => {
              await run();
              isAsking.value = false;
            }}
            done="Disabled"
          />
        </Modal>
      )}
    </>
  );
}
