import { now } from "../clock.ts";
import { fullTime, localTime, relativeTime } from "../time/time-format.ts";

/** A time as its distance from now; pointing at it tells it in full, in UTC and locally. */
export function When({ at, isExact = false }: { readonly at: string | null; readonly isExact?: boolean }) {
  if (at === null) return <span class="soft">–</span>;
  const time = Date.parse(at);
  const text = isExact ? localTime(time, { now: now.value }) : relativeTime(time, { now: now.value });
  return (
    <time dateTime={at} title={fullTime(time)}>
      {text}
    </time>
  );
}
