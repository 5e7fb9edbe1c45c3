import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { now } from "../shared/clock.ts";
import { localTime } from "../shared/time/time-format.ts";
import { parseTime } from "../shared/time/time-range.ts";

const spans: readonly (readonly [string, number | null])[] = [
  ["Until it is ended by hand", null],
  ["15 minutes", 900_000],
  ["1 hour", 3_600_000],
  ["8 hours", 28_800_000],
  ["1 day", 86_400_000],
  ["1 week", 604_800_000],
];

/** The end of something that somebody begins now: null is none, undefined while what was typed is no time to come. */
export type Until = number | null | undefined;

/** Chooses an end: one of some spans, or a time. */
export function UntilField({ choose }: { readonly choose: (until: Until) => void }) {
  const span = useSignal<number | null>(null);
  const time = useSignal("");
  const id = useId();
  const until = untilOf(time.value, span.value);
  const tell = () => choose(untilOf(time.value, span.value));
  return (
    <>
      <div class="field">
        <label for={`${id}-span`}>For how long</label>
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
        <label for={`${id}-time`}>Or until a time</label>
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
          {until === undefined ? "This is no time to come." : untilText(until)}
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
  return until === null ? "It does not end by itself." : `It ends ${localTime(until, { now: now.value })}.`;
}
