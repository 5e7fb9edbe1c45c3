import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { now } from "../clock.ts";
import { fullTime, localTime, relativeTime } from "../format.ts";

interface WhenProps {
  readonly at: string | null;
  readonly isExact?: boolean;
}

/** Relative time, with UTC and local time in full as tooltip. */
export function When({ at, isExact = false }: WhenProps) {
  return <TimeText at={at} textOf={isExact ? localText : relativeTime} titleOf={fullTime} />;
}

function localText(unixMs: number, at: number): string {
  return localTime(unixMs, { now: at });
}

interface TimeTextProps {
  /** RFC 3339, or null for an unknown time. */
  readonly at: string | null;
  readonly textOf: (unixMs: number, now: number) => string;
  readonly titleOf: (unixMs: number) => string;
}

/** A time in the page's format, or a dash for null. */
export function TimeText({ at, textOf, titleOf }: TimeTextProps) {
  return at === null ? <span class="soft">–</span> : <Time {...{ at, textOf, titleOf }} />;
}

/** Only the text updates with the clock, because a list can contain hundreds of times. */
function Time({ at, textOf, titleOf }: TimeTextProps & { readonly at: string }) {
  const { text, title } = useMemo(() => {
    const time = Date.parse(at);
    return { text: computed(() => textOf(time, now.value)), title: titleOf(time) };
  }, [at, textOf]);
  return (
    <time dateTime={at} title={title}>
      {text}
    </time>
  );
}
