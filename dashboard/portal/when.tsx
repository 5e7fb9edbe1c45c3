import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { now } from "../shared/clock.ts";
import { moment, relative } from "./language.ts";

/** Relative time, with the full time as tooltip. */
export function When({ at }: { readonly at: string | null }) {
  return at === null ? <span class="soft">–</span> : <Time at={at} />;
}

/** Only the text updates with the clock, once a second. */
function Time({ at }: { readonly at: string }) {
  const text = useMemo(() => computed(() => relative(at, now.value)), [at]);
  return (
    <time dateTime={at} title={moment(at)}>
      {text}
    </time>
  );
}
