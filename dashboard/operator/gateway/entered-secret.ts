import { signal } from "@preact/signals";

/** Secret that was just entered, for copying it to the sender on the next page. It is dropped when that page closes. */
export const enteredSecret = signal<{ readonly sourceId: string; readonly text: string } | null>(null);
