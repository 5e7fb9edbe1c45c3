import { systemClock } from "../../adapters/system/clock.ts";
import { movedParts } from "../../adapters/store/moved-parts.ts";
import type { MoveFrom, MoveTo } from "./move-ends.ts";
import { type PartMoved, PartMove, type StretchMoved } from "./move-stretches.ts";

/** What a person who waits is told. */
export type MoveNews =
  | { readonly kind: "round"; readonly number: number; readonly served: boolean }
  | { readonly kind: "progress"; readonly part: string; readonly rows: number; readonly written: number }
  /** All is there but what changes from now on: the servers may stop. */
  | { readonly kind: "ready"; readonly written: number }
  /** Rows with text that PostgreSQL refuses. */
  | { readonly kind: "replaced"; readonly part: string; readonly rows: number }
  | { readonly kind: "finishing" };

export interface MoveReport {
  readonly parts: readonly PartMoved[];
  readonly rounds: number;
  /** From when nobody could serve until the target can be served from. */
  readonly standstillMs: number;
}

/**
 * Moves everything from one store into another. While servers still work on the source, rounds copy what there is and
 * what has changed since; once they have stopped, a last one copies the rest, and the target can be served from. What is
 * written is read back. It may be killed at any time and run again.
 */
export async function moveStore(move: {
  readonly from: MoveFrom;
  readonly to: MoveTo;
  readonly tell: (news: MoveNews) => void;
  /** Between two rounds while servers work on the source. */
  readonly pause: () => Promise<void>;
  /** Milliseconds, since any time. */
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
        await finish({ from, to });
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
    await new PartMove({ part, source: from.rows, target: to.rows, moved }).run();
    done.push({ part: part.name, rows, written, replaced });
    if (replaced > 0) tell({ kind: "replaced", part: part.name, rows: replaced });
  }
  return done;
}

/** The source is marked first: of two stores that could be served from, both would deliver. */
async function finish({ from, to }: { readonly from: MoveFrom; readonly to: MoveTo }): Promise<void> {
  const digestKey = await from.digestKey();
  if (digestKey !== null) await to.keepDigestKey(digestKey);
  await from.markMoved({ place: to.place, at: systemClock.now() });
  await to.rows.finish();
}
