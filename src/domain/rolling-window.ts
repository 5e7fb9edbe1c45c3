/**
 * Counts of successes and failures over the recent past, in 60 slices.
 *
 * A result counts for at least 59/60 of the window and never longer than the whole window. Recording is O(1): it
 * empties the slices passed since the last result, no more than 60, and totals are stored separately.
 */
export interface RollingWindow {
  successes: number;
  failures: number;
  sizeMs: number;
  /** Number of the newest slice: the Unix time divided by the length of a slice. */
  head: number;
  /**
   * Successes, then failures, by slice number modulo 60. Allocated with the first result, because most webhooks are
   * idle.
   */
  slices: Uint32Array | null;
  /** How often results were cleared early. A copy of the window in another process uses this to clear them as well. */
  clearings: number;
}

/** Results of one slice, numbered like `RollingWindow.head`. */
export interface SliceResults {
  readonly slice: number;
  readonly successes: number;
  readonly failures: number;
}

const sliceCount = 60;

/** An empty window with this length in ms. */
export function createWindow(sizeMs: number): RollingWindow {
  return { successes: 0, failures: 0, sizeMs, head: 0, slices: null, clearings: 0 };
}

export function clearWindow(window: RollingWindow): void {
  emptyAll(window);
  window.clearings += 1;
}

/** Changes the window's length in ms. The window is emptied, because its slices covered different times. */
export function resizeWindow(window: RollingWindow, sizeMs: number): void {
  if (window.sizeMs === sizeMs) return;
  clearWindow(window);
  window.sizeMs = sizeMs;
  window.head = 0;
}

/** Counts one result at `now` (Unix ms). Allocates nothing after the first call. */
export function countResult(window: RollingWindow, now: number, accepted: boolean): void {
  advanceWindow(window, now);
  window.slices ??= new Uint32Array(2 * sliceCount);
  const index = (window.head % sliceCount) + (accepted ? 0 : sliceCount);
  window.slices[index] = (window.slices[index] ?? 0) + 1;
  if (accepted) window.successes += 1;
  else window.failures += 1;
}

/**
 * Adds results that were counted elsewhere in a window of the same length, unless they are too old at `now` (Unix ms).
 * Results whose time is less than a window ahead of this clock count into the newest slice.
 */
export function addResults(window: RollingWindow, results: readonly SliceResults[], now: number): void {
  advanceWindow(window, now);
  for (const { slice, successes, failures } of results) {
    if (Math.abs(slice - window.head) >= sliceCount) continue;
    window.slices ??= new Uint32Array(2 * sliceCount);
    const index = Math.min(slice, window.head) % sliceCount;
    window.slices[index] = (window.slices[index] ?? 0) + successes;
    window.slices[sliceCount + index] = (window.slices[sliceCount + index] ?? 0) + failures;
    window.successes += successes;
    window.failures += failures;
  }
}

/** Drops the results that are too old at `now` (Unix ms). */
export function advanceWindow(window: RollingWindow, now: number): void {
  const slice = Math.floor((now * sliceCount) / window.sizeMs);
  const passed = slice - window.head;
  // If the clock was set back by less than a window, results count into the newest slice. If it was set back further,
  // the window is cleared.
  if (passed <= 0 && passed > -sliceCount) return;
  if (passed < 0) clearWindow(window);
  else if (passed >= sliceCount) emptyAll(window);
  else for (let next = window.head + 1; next <= slice; next += 1) emptySlice(window, next % sliceCount);
  window.head = slice;
}

/** Start of the period that the counts cover, Unix ms. */
export function windowStart(window: RollingWindow): number {
  return Math.max(0, ((window.head - sliceCount + 1) * window.sizeMs) / sliceCount);
}

function emptyAll(window: RollingWindow): void {
  window.successes = 0;
  window.failures = 0;
  window.slices?.fill(0);
}

function emptySlice(window: RollingWindow, index: number): void {
  const { slices } = window;
  if (slices === null) return;
  window.successes -= slices[index] ?? 0;
  window.failures -= slices[sliceCount + index] ?? 0;
  slices[index] = 0;
  slices[sliceCount + index] = 0;
}
