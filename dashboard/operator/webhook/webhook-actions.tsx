import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import { useAddress } from "../../shared/address.ts";
import type { Webhook, WebhookHealth } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { ActionButton, mayManage } from "../action-button.tsx";

export function WebhookActions(props: { readonly webhook: Webhook; readonly health: WebhookHealth | null }) {
  const { webhook, health } = props;
  const { go } = useAddress();
  const path = `v1/webhooks/${webhook.id}`;
  const post = (action: string) => () => callApi({ method: "POST", path: `${path}/${action}`, body: {} });
  if (!mayManage()) return null;
  return (
    <div class="actions">
      <ActionButton
        label="Send a test"
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
      {webhook.active ? (
        <DisableButton run={post("disable")} />
      ) : (
        <ActionButton label="Enable" isPrimary run={post("enable")} done="Enabled" />
      )}
      {health !== null && health.paused_until !== null && (
        <ActionButton label="End the pause" run={post("resume")} done="The pause ended" />
      )}
      {health !== null && <CircuitButton path={path} health={health} />}
      <RotateButton path={path} />
    </div>
  );
}

function CircuitButton({ path, health }: { readonly path: string; readonly health: WebhookHealth }) {
  const change = (action: string) => () =>
    callApi({ method: "PATCH", path: `${path}/circuit-breaker`, body: { action } });
  if (health.circuit_breaker.state === "closed") {
    return (
      <ActionButton
        label="Open the circuit for an hour"
        run={change("force_open")}
        done="The circuit is open"
      />
    );
  }
  return <ActionButton label="Close the circuit" run={change("reset")} done="The circuit is closed" />;
}

function DisableButton({ run }: { readonly run: () => Promise<unknown> }) {
  const isAsking = useSignal(false);
  return (
    <>
      <button type="button" onClick={() => (isAsking.value = true)}>
        Disable…
      </button>
      {isAsking.value && (
        <Modal title="Disable this webhook?" onClose={() => (isAsking.value = false)}>
          <p>
            What waits goes on waiting, and events published meanwhile are skipped. Recovering brings them
            back.
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

interface NewSecret {
  readonly secret: string | null;
}

/** How long a secret stays on the page. */
const shownMs = 30_000;

function RotateButton({ path }: { readonly path: string }) {
  const isAsking = useSignal(false);
  const secret = useSignal<string | null>(null);
  const rotate = async () => {
    const { value } = await callApi<NewSecret>({ method: "POST", path: `${path}/secret/rotate`, body: {} });
    secret.value = value.secret;
    setTimeout(() => (secret.value = null), shownMs);
  };
  return (
    <>
      <button type="button" onClick={() => (isAsking.value = true)}>
        Rotate the secret…
      </button>
      {isAsking.value && (
        <Modal
          title="Rotate the signing secret?"
          onClose={() => {
            isAsking.value = false;
            secret.value = null;
          }}
        >
          {secret.value === null ? (
            <>
              <p>For a day messages are signed with both secrets, so that the receiver can change over.</p>
              <ActionButton label="Rotate" isPrimary run={rotate} done="Rotated" />
            </>
          ) : (
            <>
              <p>The new secret. It leaves this page after 30 seconds.</p>
              <p class="command">
                <code>{secret.value}</code>
                <CopyButton text={secret.value} label="Copy the secret" />
              </p>
            </>
          )}
        </Modal>
      )}
    </>
  );
}
