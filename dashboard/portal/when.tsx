import { now } from "../shared/clock.ts";
import { moment, relative } from "./language.ts";

/** How long ago, and in full for who points at it. */
export function When({ at }: { readonly at: string | null }) {
  if (at === null) return <span class="soft">–</span>;
  return (
    <time dateTime={at} title={moment(at)}>
      {relative(at, now.value)}
    </time>
  );
}
