import type { StatementSync } from "node:sqlite";
import { type ChunkKind, chunkKinds } from "../driver/chunks.ts";
import type { StoreState } from "../state.ts";

export interface SweepStep {
  readonly name: "expire" | "payloads" | "history_deliveries" | "history_events";
  readonly kind: ChunkKind;
  /** Only rows created before this time are of interest. */
  readonly createdBefore: number;
  readonly limit: number;
  /** Positions examined in one step. */
  readonly windowRows: number;
  /** Handles matching rows of a window in order; returns how many it changed and where it had to stop, if it did. */
  readonly visit: (window: SweepWindow) => SweepVisit;
  /** The first position of a window that a later sweep has to examine again; null when there is none. */
  readonly firstLeft: StatementSync;
}

export interface SweepWindow {
  readonly from: number;
  readonly to: number;
  readonly limit: number;
}

export interface SweepVisit {
  readonly changed: number;
  /** The last position handled when `limit` cut the window short; null when all of it was examined. */
  readonly stoppedAt: number | null;
}

export interface SweepResult {
  readonly changed: number;
  readonly more: boolean;
}

/**
 * Upkeep without indexes: a cursor walks through old rows in the order in which they were written, one window per step,
 * then starts again at the floor. The floor rises over rows that need no second look, so that a sweep of a long history
 * is short. Both survive restarts.
 */
export class Sweeps {
  readonly #state: Pick<StoreState, "chunks" | "counters">;
  readonly #read: StatementSync;
  readonly #save: StatementSync;
  readonly #unwritten: StatementSync;

  constructor(state: Pick<StoreState, "connection" | "chunks" | "counters">) {
    const { connection } = state;
    this.#state = state;
    this.#read = connection.prepare("SELECT floor, cursor FROM sweeps WHERE name = ?");
    this.#unwritten = connection.prepare("SELECT min(delivery_first) FROM fan_out_parts");
    this.#save = connection.prepare("INSERT OR REPLACE INTO sweeps VALUES (?, ?, ?)");
  }

  /** Processes one window. Only inside a write. `more` is false at the end of the sweep. */
  step(step: SweepStep): SweepResult {
    const stored = this.#read.get(step.name) as unknown as [floor: number, cursor: number] | undefined;
    const floor = stored?.[0] ?? 1;
    const from = Math.max(stored?.[1] ?? 1, floor);
    const last = this.#lastSeq(step);
    if (from > last) {
      if (from !== floor) this.#save.run(step.name, floor, floor);
      return { changed: 0, more: false };
    }
    const to = Math.min(last, from + step.windowRows - 1);
    const visit = step.visit({ from, to, limit: step.limit });
    const reached = visit.stoppedAt ?? to;
    const risen = from === floor ? this.#firstLeft(step, from, reached) : floor;
    const more = reached < last;
    this.#save.run(step.name, risen, more ? reached + 1 : risen);
    return { changed: visit.changed, more };
  }

  /** A position below which nothing is left to do. */
  floor(name: SweepStep["name"]): number {
    const stored = this.#read.get(name) as unknown as [floor: number, cursor: number] | undefined;
    return stored?.[0] ?? 1;
  }

  /** No further than rows were written: later rows of the newest chunk have to be examined too. */
  #lastSeq({ kind, createdBefore }: SweepStep): number {
    const { chunks, counters } = this.#state;
    const written = kind === chunkKinds.events ? counters.eventLast : counters.deliveryLast;
    const last = Math.min(written, chunks.lastSeqBefore(kind, createdBefore));
    if (kind === chunkKinds.events) return last;
    // Positions that are reserved and not written yet.
    const [unwritten] = this.#unwritten.get() as unknown as [first: number | null];
    return unwritten === null ? last : Math.min(last, unwritten - 1);
  }

  #firstLeft(step: SweepStep, from: number, reached: number): number {
    const [left] = step.firstLeft.get(from, reached) as unknown as [seq: number | null];
    return left ?? reached + 1;
  }
}
