import { createDigestKeyFile } from "../../adapters/keys/digest-key.ts";
import { masterKeyId } from "../../adapters/keys/secret-box.ts";
import { systemClock } from "../../adapters/system/clock.ts";
import type { MoveSource, MoveTarget } from "../../ports/store/moving.ts";
import { dataFolderAt } from "../data-folder.ts";
import type { MasterKeys } from "../keys.ts";

/** A store that hands everything over. */
export interface MoveFrom {
  readonly place: string;
  readonly rows: MoveSource;
  /** The sealed key of digests. */
  readonly digestKey: () => Promise<Uint8Array | null>;
  /** Keeps everybody from serving; null while somebody does. */
  readonly stop: () => Promise<{ readonly release: () => Promise<void> } | null>;
  readonly isServed: () => Promise<boolean>;
  /** Notes where everything went, so that nobody serves from here by mistake. */
  readonly markMoved: (to: { readonly place: string; readonly at: number } | null) => Promise<void>;
}

/** A store that takes everything. */
export interface MoveTo {
  readonly place: string;
  readonly rows: MoveTarget;
  readonly keepDigestKey: (sealed: Uint8Array) => Promise<void>;
}

export async function openSource(from: string): Promise<MoveFrom> {
  const { openSqliteMoveSource } = await import("../../adapters/store/sqlite/moving-source.ts");
  const { databaseFile } = await import("../../adapters/store/sqlite/open.ts");
  const { markMoved } = await import("../../adapters/store/sqlite/moving-marks.ts");
  const folder = dataFolderAt(from);
  return {
    place: folder.path,
    rows: openSqliteMoveSource({ dataDir: folder.path }),
    digestKey: () => createDigestKeyFile(folder.digestKeyFile).read(),
    stop: () => stopFolder(folder.path),
    isServed: async () => {
      const stopped = await stopFolder(folder.path);
      await stopped?.release();
      return stopped === null;
    },
    markMoved: async (to) => markMoved(databaseFile(folder.path), to),
  };
}

/** Whoever opens a folder owns it, and what a crash left behind is put in order. */
async function stopFolder(dataDir: string): Promise<{ readonly release: () => Promise<void> } | null> {
  const { openSqliteStore } = await import("../../adapters/store/sqlite/open.ts");
  try {
    const now = systemClock.now();
    const store = await openSqliteStore({ dataDir, now, pid: process.pid, evenIfMoved: true });
    return { release: () => store.close() };
  } catch (error) {
    if (error instanceof Error && error.name === "DataFolderInUseError") return null;
    throw error;
  }
}

/** Throws what opening the target would, and changes nothing. */
export async function judgeTarget(to: string, { source }: { readonly source: string }): Promise<void> {
  const { judgePostgresMoveTarget } = await import("../../adapters/store/postgres/open-moving.ts");
  await judgePostgresMoveTarget({ url: to, source });
}

export async function openTarget(
  to: string,
  given: { readonly source: string; readonly masterKeys: MasterKeys },
): Promise<MoveTo> {
  const { openPostgresMoveTarget } = await import("../../adapters/store/postgres/open-moving.ts");
  const { current, previous } = given.masterKeys;
  const { rows, place, digestKey } = await openPostgresMoveTarget({
    ...{ url: to, now: systemClock.now(), source: given.source },
    masterKeyIds: { current: masterKeyId(current), previous: previous.map(masterKeyId) },
  });
  return { rows, place, keepDigestKey: (sealed) => digestKey.replace(sealed) };
}
