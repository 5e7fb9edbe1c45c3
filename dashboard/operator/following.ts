import { signal } from "@preact/signals";

/** While true, new rows are added to lists automatically. */
export const isFollowing = signal(false);
