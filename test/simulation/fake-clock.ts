import type { Clock, Timer } from "../../src/ports/clock.ts";

interface ScheduledTimer {
  readonly at: number;
  readonly order: number;
  readonly owner: ProcessClock | null;
  run: (() => void) | null;
}

/**
 * Virtual time for a whole world: one monotonic clock, one wall clock that can jump, timers in a heap, and the queue of
 * deferred callbacks. The driver requests every step, so the same seed always produces the same order.
 */
export class VirtualTime {
  #monotonicMs = 0;
  #wallOffsetMs: number;
  #order = 0;
  #turns = 0;
  readonly #heap: ScheduledTimer[] = [];
  #deferred: { readonly owner: ProcessClock; readonly run: () => void }[] = [];
  /** Highest reading of the wall clock so far. */
  wallMsMax: number;
  lastJumpAtMonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(startUnixMs: number) {
    this.#wallOffsetMs = startUnixMs;
    this.wallMsMax = startUnixMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  now(): number {
    const now = this.#wallOffsetMs + this.#monotonicMs;
    if (now > this.wallMsMax) this.wallMsMax = now;
    return now;
  }

  /** Sets the wall clock forward or back. Timers are not affected. */
  jump(byMs: number): void {
    this.now();
    this.#wallOffsetMs += byMs;
    this.lastJumpAtMonotonicMs = this.#monotonicMs;
    this.now();
  }

  /** Only for the world itself; the engine gets a `ProcessClock`. */
  after(delayMs: number, run: () => void): Timer {
    return this.schedule({ delayMs, owner: null, run });
  }

  schedule(timer: {
    readonly delayMs: number;
    readonly owner: ProcessClock | null;
    readonly run: () => void;
  }): Timer {
    const delayMs = timer.delayMs > 1 ? Math.ceil(timer.delayMs) : 1;
    const { owner, run } = timer;
    this.#order += 1;
    const entry: ScheduledTimer = { at: this.#monotonicMs + delayMs, order: this.#order, owner, run };
    this.#push(entry);
    if (owner !== null) owner.pendingTimers += 1;
    return {
      cancel: () => {
        if (entry.run === null) return;
        entry.run = null;
        if (owner !== null) owner.pendingTimers -= 1;
      },
    };
  }

  defer(owner: ProcessClock, run: () => void): void {
    this.#deferred.push({ owner, run });
  }

  /** Runs all callbacks that were deferred before this turn. Returns false if there were none. */
  runDeferred(): boolean {
    if (this.#deferred.length === 0) return false;
    const turn = this.#deferred;
    this.#deferred = [];
    for (const { owner, run } of turn) if (owner.alive) run();
    this.#turns += 1;
    // Turns also take time. Without this, a caller that polls in each turn would wait forever.
    if (this.#turns % turnsPerMs === 0) this.#monotonicMs += 1;
    return true;
  }

  /** Advances time to the next timer and runs it. Returns false if no timer is due before `untilMonotonicMs`. */
  runTimer(untilMonotonicMs: number): boolean {
    for (let next = this.#heap[0]; next !== undefined; next = this.#heap[0]) {
      const isDead = next.run === null || next.owner?.alive === false;
      if (!isDead && next.at > untilMonotonicMs) break;
      this.#pop();
      if (isDead) continue;
      this.#monotonicMs = Math.max(this.#monotonicMs, next.at);
      const { run, owner } = next;
      next.run = null;
      if (owner !== null) {
        owner.pendingTimers -= 1;
        owner.firedTimers += 1;
      }
      run?.();
      return true;
    }
    this.#monotonicMs = Math.max(this.#monotonicMs, untilMonotonicMs);
    return false;
  }

  #push(entry: ScheduledTimer): void {
    const heap = this.#heap;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(entry, heap[parent] as ScheduledTimer)) break;
      heap[index] = heap[parent] as ScheduledTimer;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (let child = 1; child < heap.length; child = index * 2 + 1) {
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, heap[child] as ScheduledTimer)) child += 1;
      if (!isBefore(heap[child] as ScheduledTimer, last)) break;
      heap[index] = heap[child] as ScheduledTimer;
      index = child;
    }
    heap[index] = last;
  }
}

const turnsPerMs = 50;

function isBefore(a: ScheduledTimer, b: ScheduledTimer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** The Clock port of one engine process. When the process dies, its timers and deferred callbacks are dropped. */
export class ProcessClock implements Clock {
  readonly #time: VirtualTime;
  alive = true;
  pendingTimers = 0;
  firedTimers = 0;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  now(): number {
    return this.#time.now();
  }

  monotonicMs(): number {
    return this.#time.monotonicMs();
  }

  schedule(delayMs: number, callback: () => void): Timer {
    if (!this.alive) return { cancel: () => undefined };
    return this.#time.schedule({ delayMs, owner: this, run: callback });
  }

  defer(callback: () => void): void {
    if (this.alive) this.#time.defer(this, callback);
  }
}

/**
 * Resolves when no microtask is left. Node empties the microtask queue before the next tick, so this needs no turn of
 * the event loop.
 */
export function microtasksDone(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
