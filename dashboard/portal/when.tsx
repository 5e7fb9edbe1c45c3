import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { now } from "../shared/clock.ts";
import { moment, relative } from "./language.ts";

/** How long ago, and in full for who points at it. */
export function When({ at }: { readonly at: string | null }) {
  return at === null ? <span class="soft">–</span> : <Time at={at} />;
}

/** The clock moves once a second, and the text alone with it. */
function Time({ at }: { readonly at: string }) {
  const text = useMemo(() => computed(() => relative(at, now.value)), [at]);
  return (
    <time dateTime={at} title={moment(at)}>
      {text}
    </time>
  );
}
