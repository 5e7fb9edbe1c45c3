import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { now } from "../../shared/clock.ts";
import { fullTime } from "../../shared/format.ts";
import type { BulkStarted, Webhook, WebhookHealth } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { parseTime } from "../../shared/time-range.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { OpenCircuits } from "../bulk/bulk-dialog.tsx";
import { ActionButton, mayManage } from "../form/action-button.tsx";
import { HoldButton } from "../form/hold-button.tsx";
import { SecretOnce } from "./secret-once.tsx";

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

/** Pauses a webhook. New events are still stored. */
function PauseButton({ path }: { readonly path: string }) {
  return (
    <HoldButton
      label="Pause"
      title="Pause this webhook?"
      explanation="New events are stored and sent when the pause ends."
      done="Paused"
      hold={(hold) => callApi({ method: "POST", path: `${path}/pause`, body: hold })}
    />
  );
}

const overlaps: readonly (readonly [string, string])[] = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "1 week"],
  ["0", "revoke now: the old secret leaked"],
];

/** Rotates the signing secret. During the overlap, messages are signed with both secrets. */
export function RotateButton({ path }: { readonly path: string }) {
  const isAsking = useSignal(false);
  const overlap = useSignal("86400");
  const secret = useSignal<string | null | undefined>(undefined);
  const rotate = async () => {
    const body =
      overlap.value === "0"
        ? { mode: "revoke" }
        : { mode: "graceful", overlap_seconds: Number(overlap.value) };
    const { value } = await callApi<{ readonly secret: string | null }>({
      method: "POST",
      path: `${path}/secret/rotate`,
      body,
    });
    secret.value = value.secret;
  };
  const close = () => {
    isAsking.value = false;
    secret.value = undefined;
  };
  return (
    <>
      <button type="button" data-command="Rotate secret…" onClick={() => (isAsking.value = true)}>
        Rotate secret…
      </button>
      {isAsking.value && (
        <Modal title="Rotate signing secret?" onClose={close}>
          {secret.value === undefined && (
            <div class="form">
              <OverlapField overlap={overlap.value} choose={(seconds) => (overlap.value = seconds)} />
              <p>
                <ActionButton label="Rotate" isPrimary run={rotate} done="Rotated" />
              </p>
            </div>
          )}
          {secret.value === null && (
            <p>A new key pair was created. Receivers get the public key from the API.</p>
          )}
          {typeof secret.value === "string" && (
            <>
              <p>The new secret:</p>
              <SecretOnce secret={secret.value} />
            </>
          )}
        </Modal>
      )}
    </>
  );
}

function OverlapField(props: { readonly overlap: string; readonly choose: (seconds: string) => void }) {
  const { overlap, choose } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>Keep signing with the old secret for</label>
      <select id={id} value={overlap} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {overlaps.map(([seconds, text]) => (
          <option key={seconds} value={seconds}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

const recoverableStates: readonly (readonly [string, string])[] = [
  ["exhausted", "dead letters"],
  ["skipped", "skipped while inactive"],
  ["cancelled", "cancelled"],
];

interface Counted {
  readonly count: number;
  readonly circuits: BulkStarted["open_circuits"];
  /** Fixed when counting, so that the recovery covers the counted deliveries. */
  readonly command: { readonly since: string; readonly statuses: readonly string[] };
}

/** Retries lost deliveries since a time, after showing the count. */
function RecoverButton({ path }: { readonly path: string }) {
  const isAsking = useSignal(false);
  const counted = useSignal<Counted | null>(null);
  const close = () => {
    isAsking.value = false;
    counted.value = null;
  };
  const ask = async (body: object) => {
    const { value } = await callApi<Pick<BulkStarted, "count" | "open_circuits">>({
      method: "POST",
      path: `${path}/recover`,
      body,
    });
    return value;
  };
  return (
    <>
      <button type="button" data-command="Recover…" onClick={() => (isAsking.value = true)}>
        Recover…
      </button>
      {isAsking.value && (
        <Modal title="Recover lost deliveries?" onClose={close}>
          {counted.value === null ? (
            <RecoverForm
              count={async (command) => {
                const { count, open_circuits: circuits } = await ask({ ...command, dry_run: true });
                counted.value = { command, count, circuits };
              }}
            />
          ) : (
            <RecoverPreview
              counted={counted.value}
              run={async (command, closesCircuits) => {
                await ask({ ...command, close_circuits: closesCircuits });
                close();
              }}
            />
          )}
        </Modal>
      )}
    </>
  );
}

function RecoverForm({ count }: { readonly count: (command: Counted["command"]) => Promise<void> }) {
  const since = useSignal("now-24h");
  const chosen = useSignal<readonly string[]>(["exhausted", "skipped"]);
  const id = useId();
  const time = parseTime(since.value, now.value);
  const toggle = (state: string) =>
    (chosen.value = chosen.value.includes(state)
      ? chosen.value.filter((one) => one !== state)
      : [...chosen.value, state]);
  return (
    <div class="form">
      <div class="field">
        <label for={id}>Created since</label>
        <input
          id={id}
          value={since.value}
          autocomplete="off"
          aria-invalid={time === null}
          aria-describedby={`${id}-means`}
          onInput={({ currentTarget }) => (since.value = currentTarget.value)}
        />
        <p id={`${id}-means`} class={time === null ? "bad-text" : "soft"}>
          {time === null ? "Enter a valid time." : fullTime(time).split("\n")[0]}
        </p>
      </div>
      <fieldset class="columns">
        <legend>Include</legend>
        {recoverableStates.map(([state, text]) => (
          <label key={state}>
            <input type="checkbox" checked={chosen.value.includes(state)} onChange={() => toggle(state)} />
            {text}
          </label>
        ))}
      </fieldset>
      <p>
        <ActionButton
          label="Count"
          isPrimary
          run={async () => {
            if (time === null || chosen.value.length === 0) return;
            await count({ since: new Date(time).toISOString(), statuses: chosen.value });
          }}
          done="Counted"
        />
      </p>
    </div>
  );
}

function RecoverPreview(props: {
  readonly counted: Counted;
  readonly run: (command: Counted["command"], closesCircuits: boolean) => Promise<void>;
}) {
  const { count, command, circuits } = props.counted;
  const closesCircuits = useSignal(false);
  const seconds = Math.ceil(count / ratePerSecond);
  return (
    <>
      <p>
        <strong>
          {count} {count === 1 ? "delivery" : "deliveries"}
        </strong>{" "}
        created since {fullTime(Date.parse(command.since)).split("\n")[0]}.{" "}
        {count > 0 && `At ${ratePerSecond} per second, this takes about ${seconds} s.`} Waiting deliveries are
        not affected.
      </p>
      <OpenCircuits circuits={circuits} choose={(isChosen) => (closesCircuits.value = isChosen)} />
      {count > 0 && (
        <p class="actions">
          <ActionButton
            label={`Recover ${count}`}
            isPrimary
            run={() => props.run(command, closesCircuits.value)}
            done="Recovery started"
          />
        </p>
      )}
    </>
  );
}

/** Default rate of the server. */
const ratePerSecond = 10;
