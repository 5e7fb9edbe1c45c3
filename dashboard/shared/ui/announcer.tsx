import { type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

/**
 * Live regions of the page and of each open dialog, newest last. While a modal dialog is open, nothing outside it is
 * read aloud.
 */
const regions: Signal<string>[] = [];
/** Time of the last announcement, in milliseconds since page load. */
let announcedAt = -Infinity;

/** If a dialog closes within this time, its announcement may not have been read yet. */
const heardAfterMs = 1_000;

/** Announces a message to screen readers. */
export function announce(text: string): void {
  const region = regions.at(-1);
  if (region !== undefined) region.value = text;
  announcedAt = performance.now();
}

/** A live region. It must exist before its text changes, otherwise screen readers do not announce the change. */
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
