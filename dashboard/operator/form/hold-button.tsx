import { type Signal, useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { now } from "../../shared/clock.ts";
import { localTime } from "../../shared/format.ts";
import { parseTime } from "../../shared/time-range.ts";
import { Modal } from "../../shared/ui/modal.tsx";
import { ActionButton } from "./action-button.tsx";

/** End and reason of a pause or mute. A null end means until ended manually. */
interface Hold {
  readonly until: string | null;
  readonly reason: string | null;
}

interface HoldProps {
  /** Action of the button: "Mute", "Pause". */
  readonly label: string;
  /** Distinguishes buttons with the same label on one page. */
  readonly name?: string;
  readonly title: string;
  readonly explanation: string;
  /** Announced on success. */
  readonly done: string;
  /** An end is required. */
  readonly needsEnd?: boolean;
  readonly hold: (hold: Hold) => Promise<unknown>;
}

/** Opens a dialog for duration and reason, then pauses or mutes. */
export function HoldButton(props: HoldProps) {
  const isAsking = useSignal(false);
  const close = () => (isAsking.value = false);
  return (
    <>
      <button
        type="button"
        aria-label={props.name === undefined ? undefined : `${props.label} ${props.name}…`}
        data-command={props.name === undefined ? `${props.label}…` : undefined}
        onClick={() => (isAsking.value = true)}
      >
        {props.label}…
      </button>
      {isAsking.value && (
        <Modal title={props.title} onClose={close}>
          <HoldForm {...props} close={close} />
        </Modal>
      )}
    </>
  );
}

function HoldForm(props: HoldProps & { readonly close: () => void }) {
  const { label, explanation, done, needsEnd = false, hold, close } = props;
  const until = useSignal<Until>(null);
  const reason = useSignal("");
  const run = async () => {
    const end = until.value;
    await hold({
      until: typeof end === "number" ? new Date(end).toISOString() : null,
      reason: reason.value.trim() === "" ? null : reason.value.trim(),
    });
    close();
  };
  const isDisabled = until.value === undefined || (needsEnd && until.value === null);
  return (
    <div class="form">
      <p>{explanation}</p>
      <UntilField choose={(chosen) => (until.value = chosen)} />
      <ReasonField reason={reason} />
      <ActionButton label={label} isPrimary isDisabled={isDisabled} run={run} done={done} />
    </div>
  );
}

/** Reason for a pause or mute. */
function ReasonField({ reason }: { readonly reason: Signal<string> }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>Reason (optional)</label>
      <input
        id={id}
        maxLength={255}
        autocomplete="off"
        value={reason.value}
        onInput={({ currentTarget }) => (reason.value = currentTarget.value)}
      />
    </div>
  );
}

const spans: readonly (readonly [string, number | null])[] = [
  ["Until ended manually", null],
  ["15 minutes", 900_000],
  ["1 hour", 3_600_000],
  ["8 hours", 28_800_000],
  ["1 day", 86_400_000],
  ["1 week", 604_800_000],
];

/** End of a pause or mute. Null means no end; undefined means the typed time is invalid or in the past. */
type Until = number | null | undefined;

/** Selects an end: a duration or a time. */
function UntilField({ choose }: { readonly choose: (until: Until) => void }) {
  const span = useSignal<number | null>(null);
  const time = useSignal("");
  const id = useId();
  const until = untilOf(time.value, span.value);
  const tell = () => choose(untilOf(time.value, span.value));
  return (
    <>
      <div class="field">
        <label for={`${id}-span`}>Duration</label>
        <select
          id={`${id}-span`}
          onChange={({ currentTarget }) => {
            span.value = spans[currentTarget.selectedIndex]?.[1] ?? null;
            tell();
          }}
        >
          {spans.map(([text]) => (
            <option key={text}>{text}</option>
          ))}
        </select>
      </div>
      <div class="field">
        <label for={`${id}-time`}>Or end time</label>
        <input
          id={`${id}-time`}
          placeholder="2026-11-24 14:00"
          autocomplete="off"
          aria-invalid={until === undefined}
          aria-describedby={`${id}-means`}
          value={time.value}
          onInput={({ currentTarget }) => {
            time.value = currentTarget.value;
            tell();
          }}
        />
        <p id={`${id}-means`} class={until === undefined ? "bad-text" : "soft"}>
          {until === undefined ? "Enter a time in the future." : untilText(until)}
        </p>
      </div>
    </>
  );
}

function untilOf(text: string, spanMs: number | null): Until {
  if (text.trim() === "") return spanMs === null ? null : now.value + spanMs;
  const time = parseTime(text, now.value);
  return time === null || time <= now.value ? undefined : time;
}

function untilText(until: number | null): string {
  return until === null ? "Does not end automatically." : `Ends ${localTime(until, { now: now.value })}.`;
}
