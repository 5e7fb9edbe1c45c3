import { systemClock } from "../../adapters/system/clock.ts";
import { movedParts } from "../../adapters/store/moved-parts.ts";
import type { MoveFrom, MoveTo } from "./move-ends.ts";
import { type PartMoved, PartMove, type StretchMoved } from "./move-stretches.ts";

/** Progress reports for the user. */
export type MoveNews =
  | { readonly kind: "round"; readonly number: number; readonly served: boolean }
  | { readonly kind: "progress"; readonly part: string; readonly rows: number; readonly written: number }
  /** Everything is copied except for new changes: the servers may stop. */
  | { readonly kind: "ready"; readonly written: number }
  /** Rows with text that PostgreSQL rejects. */
  | { readonly kind: "replaced"; readonly part: string; readonly rows: number }
  | { readonly kind: "finishing" };

export interface MoveReport {
  readonly parts: readonly PartMoved[];
  readonly rounds: number;
  /** Downtime: from the stop of the source until the target can be opened. */
  readonly standstillMs: number;
}

/**
 * Moves all data from one store into another. While servers are using the source, each round copies new and changed
 * data. Once they have stopped, a last round copies the rest, and servers can open the target. Written data is
 * verified by reading it back. The move may be killed at any time and run again.
 */
export async function moveStore(move: {
  readonly from: MoveFrom;
  readonly to: MoveTo;
  readonly tell: (news: MoveNews) => void;
  /** Called between two rounds while servers are using the source. */
  readonly pause: () => Promise<void>;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}): Promise<MoveReport> {
  const { from, to, tell, now } = move;
  for (let number = 1; ; number += 1) {
    const stopped = await from.stop();
    const since = now();
    let moved = false;
    try {
      tell({ kind: "round", number, served: stopped === null });
      const parts = await copyAll(move);
      if (stopped !== null) {
        tell({ kind: "finishing" });
        await finish(from, to);
        moved = true;
        return { parts, rounds: number, standstillMs: now() - since };
      }
      tell({ kind: "ready", written: parts.reduce((sum, { written }) => sum + written, 0) });
    } finally {
      await stopped?.release({ moved });
    }
    await move.pause();
  }
}

async function copyAll({
  from,
  to,
  tell,
}: Pick<Parameters<typeof moveStore>[0], "from" | "to" | "tell">): Promise<readonly PartMoved[]> {
  await from.rows.freeze();
  const done: PartMoved[] = [];
  for (const part of movedParts) {
    let [rows, written, replaced] = [0, 0, 0];
    const moved = (more: StretchMoved): void => {
      rows += more.moved;
      written += more.written;
      replaced += more.replaced;
      tell({ kind: "progress", part: part.name, rows, written });
    };
    await new PartMove(part, from.rows, to.rows, moved).run();
    done.push({ part: part.name, rows, written, replaced });
    if (replaced > 0) tell({ kind: "replaced", part: part.name, rows: replaced });
  }
  return done;
}

/** Marks the source first: servers on both stores would deliver everything twice. */
async function finish(from: MoveFrom, to: MoveTo): Promise<void> {
  const digestKey = await from.digestKey();
  if (digestKey !== null) await to.keepDigestKey(digestKey);
  await from.markMoved({ place: to.place, at: systemClock.now() });
  await to.rows.finish();
}
