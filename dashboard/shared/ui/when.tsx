import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { now } from "../clock.ts";
import { fullTime, localTime, relativeTime } from "../time/time-format.ts";

interface WhenProps {
  readonly at: string | null;
  readonly isExact?: boolean;
}

/** Relative time, with UTC and local time in full as tooltip. */
export function When({ at, isExact = false }: WhenProps) {
  return at === null ? <span class="soft">–</span> : <Time at={at} isExact={isExact} />;
}

/** Only the text updates with the clock, because a list has hundreds of times. */
function Time({ at, isExact }: { readonly at: string; readonly isExact: boolean }) {
  const { text, title } = useMemo(() => {
    const time = Date.parse(at);
    const tell = isExact ? localTime : relativeTime;
    return { text: computed(() => tell(time, { now: now.value })), title: fullTime(time) };
  }, [at, isExact]);
  return (
    <time dateTime={at} title={title}>
      {text}
    </time>
  );
}
