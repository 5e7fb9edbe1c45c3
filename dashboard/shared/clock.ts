import { effect, signal } from "@preact/signals";
import { isPaused } from "./queries.ts";

/** Current time for relative times. Updates once a second while the page is visible. */
export const now = signal(Date.now());

/**
 * Start of the current minute. Time ranges have this precision, so their views do not render every second. It does not
 * advance while refreshing is paused, because a moving range triggers requests.
 */
export const minute = signal(0);

effect(() => {
  if (!isPaused.value) minute.value = Math.floor(now.value / 60_000) * 60_000;
});

setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 1_000);
