import { useSignal } from "@preact/signals";
import { now } from "../../shared/clock.ts";
import { localTime } from "../../shared/format.ts";
import { parseTime } from "../../shared/time-range.ts";
import { SelectField, TextField } from "../../shared/ui/field.tsx";
import { ActionButton, DialogButton } from "./action-button.tsx";

/** End and reason of a pause or mute. If the end is null, it lasts until a user ends it. */
interface Hold {
  readonly until: string | null;
  readonly reason: string | null;
}

interface HoldProps {
  /** Verb on the button, such as "Mute" or "Pause". */
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
  return (
    <DialogButton label={props.label} name={props.name} title={props.title}>
      {(close) => <HoldForm {...props} close={close} />}
    </DialogButton>
  );
}

/** Durations in milliseconds. */
const spans = [
  ["", "Until ended manually"],
  ["900000", "15 minutes"],
  ["3600000", "1 hour"],
  ["28800000", "8 hours"],
  ["86400000", "1 day"],
  ["604800000", "1 week"],
] as const;

function HoldForm(props: HoldProps & { readonly close: () => void }) {
  const { label, explanation, done, needsEnd = false, hold, close } = props;
  const span = useSignal("");
  const time = useSignal("");
  const reason = useSignal("");
  const until = untilOf(time.value, span.value);
  const run = async () => {
    const end = untilOf(time.value, span.value);
    await hold({
      until: typeof end === "number" ? new Date(end).toISOString() : null,
      reason: reason.value.trim() === "" ? null : reason.value.trim(),
    });
    close();
  };
  return (
    <div class="form">
      <p>{explanation}</p>
      <SelectField label="Duration" value={span} options={spans} />
      <TextField
        label="Or end time"
        value={time}
        placeholder="2026-11-24 14:00"
        autocomplete="off"
        isWrong={until === undefined}
        note={until === undefined ? "Enter a time in the future." : untilText(until)}
      />
      <TextField label="Reason (optional)" value={reason} maxLength={255} autocomplete="off" />
      <ActionButton
        label={label}
        isPrimary
        isDisabled={until === undefined || (needsEnd && until === null)}
        run={run}
        done={done}
      />
    </div>
  );
}

/** End in Unix milliseconds. Null means no end; undefined means the typed time is invalid or in the past. */
function untilOf(text: string, span: string): number | null | undefined {
  if (text.trim() === "") return span === "" ? null : now.value + Number(span);
  const time = parseTime(text, now.value);
  return time === null || time <= now.value ? undefined : time;
}

function untilText(until: number | null): string {
  return until === null ? "Does not end automatically." : `Ends ${localTime(until, { now: now.value })}.`;
}
