import { signal } from "@preact/signals";

const announcement = signal("");

/** Says one sentence to screen readers when they are done with theirs. */
export function announce(text: string): void {
  announcement.value = text;
}

export function Announcer() {
  return (
    <div role="status" aria-live="polite" class="off-screen">
      {announcement.value}
    </div>
  );
}
