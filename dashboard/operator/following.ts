import { signal } from "@preact/signals";

/** While true, new rows come into a list by themselves. */
export const isFollowing = signal(false);
