import type { Clock, Timer } from "../../ports/clock.ts";

/** An object that sleeps until a given time. An earlier time replaces a later one, and waking clears it. */
export abstract class Sleeper {
  #wakeAt: number | null = null;

  /** Time of the current wake-up, Unix milliseconds; null if there is none. */
  get wakeAt(): number | null {
    return this.#wakeAt;
  }

  /** Records a wake-up. Called by `Wakeups`, which wakes the object at that time. */
  sleepUntil(at: number): void {
    this.#wakeAt = at;
  }

  /** Cancels the current wake-up. */
  stayAwake(): void {
    this.#wakeAt = null;
  }

  abstract wake(now: number): void;
}

/** An action that runs once at a later time. */
export class Sleep extends Sleeper {
  readonly #woke: (now: number) => void;

  constructor(woke: (now: number) => void) {
    super();
    this.#woke = woke;
  }

  wake(now: number): void {
    this.#woke(now);
  }
}

interface Entry {
  readonly at: number;
  readonly sleeper: Sleeper;
}

/**
 * The timers of all closed lanes, as one binary heap with one clock timer: a closed lane costs one entry, however many
 * deliveries wait in it. Replaced entries stay in the heap and are skipped when they reach the top.
 */
export class Wakeups {
  readonly #clock: Clock;
  readonly #heap: Entry[] = [];
  #timer: Timer | null = null;
  #timerAt = Number.POSITIVE_INFINITY;
  /** Wall clock minus monotonic clock: decreases when the wall clock is set back. */
  #wallOffsetMs: number;
  #stopped = false;
  readonly #clockSetBack: () => void;

  constructor(clock: Clock, clockSetBack: () => void = () => undefined) {
    this.#clock = clock;
    this.#clockSetBack = clockSetBack;
    this.#wallOffsetMs = clock.now() - clock.monotonicMs();
  }

  /** Wakes the sleeper at `at`, or earlier if an earlier wake-up is already set. */
  at(sleeper: Sleeper, at: number): void {
    if (this.#stopped || (sleeper.wakeAt !== null && sleeper.wakeAt <= at)) return;
    sleeper.sleepUntil(at);
    this.#push({ at, sleeper });
    this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#heap.length = 0;
  }

  #arm(): void {
    const next = this.#heap[0];
    if (next === undefined || next.at >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = next.at;
    const delayMs = Math.min(Math.max(next.at - this.#clock.now(), 0), recheckMs);
    this.#timer = this.#clock.schedule(delayMs, () => this.#fire());
  }

  #fire(): void {
    this.#timer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    if (this.#wasSetBack(now)) {
      for (const entry of this.#heap.splice(0)) wake(entry, now);
      this.#clockSetBack();
    }
    for (let next = this.#heap[0]; next !== undefined && next.at <= now; next = this.#heap[0]) {
      this.#pop();
      wake(next, now);
    }
    if (!this.#stopped) this.#arm();
  }

  /**
   * Whether the wall clock was set back. All wake-up times are then invalid, so all sleepers wake up and compute new
   * ones.
   */
  #wasSetBack(now: number): boolean {
    const before = this.#wallOffsetMs;
    this.#wallOffsetMs = now - this.#clock.monotonicMs();
    return this.#wallOffsetMs < before - clockStepMs;
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Entry;
      if (above.at <= entry.at) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = index * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as Entry).at < (heap[child] as Entry).at) child += 1;
      if ((heap[child] as Entry).at >= last.at) break;
      heap[index] = heap[child] as Entry;
      index = child;
    }
    heap[index] = last;
  }
}

/** Wakes the sleeper of an entry, unless the entry was replaced. */
function wake({ at, sleeper }: Entry, now: number): void {
  if (sleeper.wakeAt !== at) return;
  sleeper.stayAwake();
  sleeper.wake(now);
}

/**
 * Due times are wall-clock times, and the wall clock may jump forward, so timers are checked again at this interval.
 */
const recheckMs = 10_000;
/** A change of the offset by less than this is drift, not a change of the clock. */
const clockStepMs = 1_000;
