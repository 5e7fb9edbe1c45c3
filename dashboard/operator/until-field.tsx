import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { now } from "../shared/clock.ts";
import { localTime } from "../shared/format.ts";
import { parseTime } from "../shared/time-range.ts";

const spans: readonly (readonly [string, number | null])[] = [
  ["Until ended manually", null],
  ["15 minutes", 900_000],
  ["1 hour", 3_600_000],
  ["8 hours", 28_800_000],
  ["1 day", 86_400_000],
  ["1 week", 604_800_000],
];

/** End of a pause or mute. Null means no end; undefined means the typed time is invalid or in the past. */
export type Until = number | null | undefined;

/** Selects an end: a duration or a time. */
export function UntilField({ choose }: { readonly choose: (until: Until) => void }) {
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
