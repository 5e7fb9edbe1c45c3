import { type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

/** Of the page and of each open dialog, the newest last: outside of a modal dialog nothing is read aloud. */
const regions: Signal<string>[] = [];
/** When something was last announced, in milliseconds since the page began. */
let announcedAt = -Infinity;

/** A dialog that closes sooner takes its sentence along before it was heard. */
const heardAfterMs = 1_000;

/** Says one sentence to screen readers when they are done with theirs. */
export function announce(text: string): void {
  const region = regions.at(-1);
  if (region !== undefined) region.value = text;
  announcedAt = performance.now();
}

/** A live region, which has to be there before it says something. */
export function Announcer() {
  const text = useSignal("");
  useLayoutEffect(() => {
    regions.push(text);
    return () => {
      regions.splice(regions.indexOf(text), 1);
      const isUnheard = text.value !== "" && performance.now() - announcedAt < heardAfterMs;
      if (isUnheard) announce(text.value);
    };
  }, []);
  return (
    <div role="status" aria-live="polite" class="off-screen">
      {text}
    </div>
  );
}
