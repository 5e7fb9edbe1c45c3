import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { useAddress } from "../address.ts";
import { now } from "../clock.ts";
import { fullTime, localTime } from "../format.ts";
import { offeredRanges, parseTime, splitRange } from "../time-range.ts";
import { Field } from "./field.tsx";
import { Icon } from "./icon.tsx";
import { Popover } from "./modal.tsx";

const names: Readonly<Record<string, string>> = {
  "15m": "15 minutes",
  "1h": "1 hour",
  "6h": "6 hours",
  "24h": "24 hours",
  "7d": "7 days",
  "30d": "30 days",
};

interface RangePickerProps {
  /** Default range if the URL contains none, such as `24h`. If omitted, the default is any time. */
  readonly fallback?: string;
}

/** Time range of the whole page. The URL stores the range as it was selected, so a relative range stays relative. */
export function RangePicker({ fallback = "" }: RangePickerProps) {
  const { params, set } = useAddress();
  const id = useId();
  const popover = useRef<HTMLDivElement>(null);
  const isByHand = params.has("from") || params.has("to");
  const range = params.get("range") ?? (isByHand ? "" : fallback);
  const choose = (value: string) => {
    popover.current?.hidePopover();
    set({ range: value === "" ? [] : [value], from: [], to: [] });
  };
  return (
    <div class="range">
      <button type="button" popovertarget={id} class="range-button">
        <Icon name="clock" />
        <span class="off-screen">Time range: </span>
        {chosenText(params, fallback)}
      </button>
      <Popover innerRef={popover} id={id} label="Time range">
        {() => (
          <>
            <div class="range-offers">
              {fallback === "" && (
                <button type="button" aria-pressed={range === "" && !isByHand} onClick={() => choose("")}>
                  Any time
                </button>
              )}
              {offeredRanges.map((name) => (
                <button type="button" key={name} aria-pressed={range === name} onClick={() => choose(name)}>
                  {names[name]}
                </button>
              ))}
            </div>
            <RangeForm key={params.toString()} close={() => popover.current?.hidePopover()} />
          </>
        )}
      </Popover>
    </div>
  );
}

function chosenText(params: URLSearchParams, fallback: string): string {
  const [from, to] = [params.get("from"), params.get("to")];
  const range = params.get("range") ?? (from === null && to === null ? fallback : "");
  if (range !== "") return `Last ${names[range] ?? range}`;
  if (from === null && to === null) return "Any time";
  return `${from === null ? "Any time" : shortTime(from)} – ${to === null ? "now" : shortTime(to)}`;
}

/** Shows relative times as typed, and other times as local time. */
function shortTime(text: string): string {
  const time = parseTime(text, now.value);
  return time === null || !/\d{4}/.test(text) ? text : localTime(time, { now: now.value });
}

function RangeForm({ close }: { readonly close: () => void }) {
  const { params, set } = useAddress();
  const isRelative = params.has("range");
  const from = useSignal(isRelative ? `now-${params.get("range") ?? ""}` : (params.get("from") ?? ""));
  const to = useSignal(params.get("to") ?? "");
  const isTried = useSignal(false);
  const wrong = [from, to].some(({ value }) => value.trim() !== "" && typedTime(value) === null);
  const start = typedTime(from.value);
  const end = typedTime(to.value);
  const isReversed = start !== null && end !== null && start >= end;
  const type = (which: typeof from) => (text: string) => {
    const both = splitRange(text);
    if (both === null) which.value = text;
    else [from.value, to.value] = both;
  };
  return (
    <form
      class="range-form"
      onSubmit={(event) => {
        event.preventDefault();
        isTried.value = true;
        if (wrong || isReversed) return;
        const kept = (text: string) => (text.trim() === "" ? [] : [text.trim()]);
        close();
        set({ range: [], from: kept(from.value), to: kept(to.value) });
      }}
    >
      <TimeField label="From" text={from.value} placeholder="now-2h, yesterday" type={type(from)} />
      <TimeField label="To" text={to.value} placeholder="now" type={type(to)} />
      {isTried.value && isReversed && (
        <p class="bad-text" role="alert">
          The end must be after the start.
        </p>
      )}
      <p class="soft">You can also paste a time, or a log line that contains one.</p>
      <button type="submit" class="primary">
        Apply
      </button>
    </form>
  );
}

/** Reads the clock only if the text is not empty, because reading it causes a render every second. */
function typedTime(text: string): number | null {
  return text.trim() === "" ? null : parseTime(text, now.value);
}

function TimeField(props: {
  readonly label: string;
  readonly text: string;
  readonly placeholder: string;
  readonly type: (text: string) => void;
}) {
  const { label, text, placeholder, type } = props;
  const time = typedTime(text);
  const isWrong = text.trim() !== "" && time === null;
  const [utc] = time === null ? [] : fullTime(Math.floor(time / 1_000) * 1_000).split("\n");
  return (
    <Field
      label={label}
      note={isWrong ? "Enter a valid time." : (utc ?? "").replace(".000", "")}
      isWrong={isWrong}
    >
      {(control) => (
        <input
          {...control}
          value={text}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => type(currentTarget.value)}
        />
      )}
    </Field>
  );
}
