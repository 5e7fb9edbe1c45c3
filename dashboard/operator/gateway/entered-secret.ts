import { signal } from "@preact/signals";

/** What somebody just entered, to be copied to the sender from the next page; nothing keeps it longer than that page. */
export const enteredSecret = signal<{ readonly sourceId: string; readonly text: string } | null>(null);
