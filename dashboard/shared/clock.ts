import { effect, signal } from "@preact/signals";
import { isPaused } from "./queries.ts";

/** The time that relative times are shown against; it moves once a second while somebody looks. */
export const now = signal(Date.now());

/**
 * The minute that it is. Ranges of time are as exact as that, and what shows them need not be made again each second. It stands
 * still while refreshing is paused: a range that moves asks for what is in it now.
 */
export const minute = signal(0);

effect(() => {
  if (!isPaused.value) minute.value = Math.floor(now.value / 60_000) * 60_000;
});

setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 1_000);
