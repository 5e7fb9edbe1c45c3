import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { now } from "../../shared/clock.ts";
import { fullTime } from "../../shared/format.ts";
import type { BulkStarted } from "../../shared/resources.ts";
import { parseTime } from "../../shared/time-range.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { ActionButton } from "../action-button.tsx";
import { OpenCircuits } from "../bulk/bulk-dialog.tsx";

const states: readonly (readonly [string, string])[] = [
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
export function RecoverButton({ path }: { readonly path: string }) {
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
            <Preview
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
        {states.map(([state, text]) => (
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

function Preview(props: {
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
