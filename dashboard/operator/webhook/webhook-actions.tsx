import { useSignal } from "@preact/signals";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { now } from "../../shared/clock.ts";
import { counted, fullTime } from "../../shared/format.ts";
import type { BulkStarted, Webhook, WebhookHealth } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { parseTime } from "../../shared/time-range.ts";
import { CheckBoxes, SelectField, TextField } from "../../shared/ui/field.tsx";
import { SecretText } from "../../shared/ui/secret-text.tsx";
import { OpenCircuits } from "../bulk/bulk-dialog.tsx";
import { ActionButton, ConfirmButton, DialogButton, LinkButton, mayManage } from "../form/action-button.tsx";
import { HoldButton } from "../form/hold-button.tsx";

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
      <LinkButton href={pagePath(`webhooks/${webhook.id}/edit`)} label="Edit" />
      {webhook.active ? (
        <ConfirmButton
          label="Disable"
          title="Disable this webhook?"
          run={(close) => post("disable")().then(close)}
          done="Disabled"
        >
          Waiting deliveries stay queued. Events published while the webhook is disabled are skipped. Recover
          the webhook to send them.
        </ConfirmButton>
      ) : (
        <ActionButton label="Enable" isPrimary run={post("enable")} done="Enabled" />
      )}
      {webhook.pause === null && webhook.active && (
        <HoldButton
          label="Pause"
          title="Pause this webhook?"
          explanation="New events are stored and sent when the pause ends."
          done="Paused"
          hold={(hold) => callApi({ method: "POST", path: `${path}/pause`, body: hold })}
        />
      )}
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

/** Choices for the overlap of two secrets: seconds and label. */
const overlaps = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "1 week"],
  ["0", "revoke now: the old secret leaked"],
] as const;

/** Rotates the signing secret. During the overlap, messages are signed with both secrets. */
export function RotateButton({ path }: { readonly path: string }) {
  return (
    <DialogButton label="Rotate secret" title="Rotate signing secret?">
      {() => <Rotation path={path} />}
    </DialogButton>
  );
}

function Rotation({ path }: { readonly path: string }) {
  const overlap = useSignal("86400");
  const secret = useSignal<string | null | undefined>(undefined);
  const rotate = async () => {
    const seconds = Number(overlap.value);
    const body = seconds === 0 ? { mode: "revoke" } : { mode: "graceful", overlap_seconds: seconds };
    const { value } = await callApi<{ readonly secret: string | null }>({
      method: "POST",
      path: `${path}/secret/rotate`,
      body,
    });
    secret.value = value.secret;
  };
  if (secret.value === null)
    return <p>A new key pair was created. Receivers get the public key from the API.</p>;
  if (secret.value !== undefined)
    return (
      <>
        <p>The new secret:</p>
        <SecretText secret={secret.value} />
      </>
    );
  return (
    <div class="form">
      <SelectField label="Keep signing with the old secret for" value={overlap} options={overlaps} />
      <p>
        <ActionButton label="Rotate" isPrimary run={rotate} done="Rotated" />
      </p>
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
  /** Determined when the deliveries are counted, so that the recovery covers the same deliveries. */
  readonly command: { readonly since: string; readonly statuses: readonly string[] };
}

/** Retries deliveries lost since a given time, after showing their number. */
function RecoverButton({ path }: { readonly path: string }) {
  return (
    <DialogButton label="Recover" title="Recover lost deliveries?">
      {(close) => <Recovery path={`${path}/recover`} close={close} />}
    </DialogButton>
  );
}

function Recovery({ path, close }: { readonly path: string; readonly close: () => void }) {
  const counted = useSignal<Counted | null>(null);
  const ask = async (body: object) =>
    (await callApi<Pick<BulkStarted, "count" | "open_circuits">>({ method: "POST", path, body })).value;
  if (counted.value === null)
    return (
      <RecoverForm
        count={async (command) => {
          const { count, open_circuits: circuits } = await ask({ ...command, dry_run: true });
          counted.value = { command, count, circuits };
        }}
      />
    );
  return (
    <RecoverPreview
      counted={counted.value}
      run={async (command, closesCircuits) => {
        await ask({ ...command, close_circuits: closesCircuits });
        close();
      }}
    />
  );
}

function RecoverForm({ count }: { readonly count: (command: Counted["command"]) => Promise<void> }) {
  const since = useSignal("now-24h");
  const chosen = useSignal<readonly string[]>(["exhausted", "skipped"]);
  const time = parseTime(since.value, now.value);
  return (
    <div class="form">
      <TextField
        label="Created since"
        value={since}
        autocomplete="off"
        isWrong={time === null}
        note={time === null ? "Enter a valid time." : fullTime(time).split("\n")[0]}
      />
      <fieldset class="columns">
        <legend>Include</legend>
        <CheckBoxes value={chosen} options={recoverableStates} />
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
        <strong>{counted(count, "delivery", "deliveries")}</strong> created since{" "}
        {fullTime(Date.parse(command.since)).split("\n")[0]}.{" "}
        {count > 0 && `At ${ratePerSecond} per second, this takes about ${seconds} s.`} Waiting deliveries are
        not affected.
      </p>
      <OpenCircuits circuits={circuits} isChosen={closesCircuits} />
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
