import type { Store } from "../../ports/store.ts";
import type { MoveSource, MoveTarget } from "../../ports/store/moving.ts";
import type { MovedTo } from "../../store/moved-parts.ts";
import type { PostgresMoveSource } from "../../store/postgres/move/moving-source.ts";
import { systemClock } from "../../system/clock.ts";
import { createDigestKeyFile, readOrCreateKeyFile } from "../../system/keys/key-file.ts";
import { masterKeyId } from "../../system/keys/secret-box.ts";
import { type DataFolder, dataFolderAt, prepareDataFolder } from "../data-folder.ts";
import type { MasterKeys } from "../keys.ts";

/** The store from which data is moved. */
export interface MoveFrom {
  readonly place: string;
  readonly rows: MoveSource;
  /** The sealed digest key. */
  readonly digestKey: () => Promise<Uint8Array | null>;
  /** Prevents all processes from using the store. Resolves to null if a server is still running. */
  readonly stop: () => Promise<Stopped | null>;
  readonly isServed: () => Promise<boolean>;
  /** Records the destination, so that no server starts on the source by mistake; null removes the record. */
  readonly markMoved: (to: MovedTo | null) => Promise<void>;
  /** The destination of a completed move; null if the data has not been moved. */
  readonly movedTo: () => Promise<MovedTo | null>;
}

export interface Stopped {
  /** Releases a stopped store. If the move is not complete, servers may use the store again. */
  readonly release: (isMoved: boolean) => Promise<void>;
}

/** The store into which data is moved. */
export interface MoveTo {
  readonly place: string;
  readonly rows: MoveTarget;
  readonly keepDigestKey: (sealed: Uint8Array) => Promise<void>;
}

/** The folder has a different master key, which could not decrypt the moved data. */
class OtherMasterKeyError extends Error {
  override readonly name = "KeyFileError";

  constructor(file: string) {
    super(`${file} contains a different master key than POSTHORN_MASTER_KEY: move into an empty folder`);
  }
}

/** Whether a move end is a database URL; otherwise it is a data folder. */
export function isPostgres(end: string): boolean {
  return /^postgres(ql)?:/.test(end);
}

export async function openSource(
  from: string,
  masterKeys: () => MasterKeys,
  /** Read-only: does not create any files. */ isLook: boolean,
): Promise<MoveFrom> {
  return isPostgres(from) ? openDatabaseSource(from, masterKeys) : openFolderSource(from, isLook);
}

async function openFolderSource(from: string, isLook: boolean): Promise<MoveFrom> {
  const { openSqliteMoveSource } = await import("../../store/sqlite/move/open-moving.ts");
  const { databaseFile } = await import("../../store/sqlite/open.ts");
  const { markMoved, readMoved } = await import("../../store/sqlite/move/moving-rows.ts");
  const { isOwned } = await import("../../store/sqlite/driver/owner-lock.ts");
  const folder = dataFolderAt(from);
  const isServed = () => isOwned(folder.path);
  return {
    place: folder.path,
    rows: openSqliteMoveSource(folder.path, isLook && !isServed()),
    digestKey: () => createDigestKeyFile(folder.digestKeyFile).read(),
    stop: () => stopFolder(folder.path),
    isServed: async () => isServed(),
    markMoved: async (to) => markMoved(databaseFile(folder.path), to),
    movedTo: async () => readMoved(databaseFile(folder.path)),
  };
}

/** Opens the store of a data folder, which locks the folder and runs crash recovery. */
async function stopFolder(dataDir: string): Promise<Stopped | null> {
  const { openSqliteStore } = await import("../../store/sqlite/open.ts");
  try {
    const now = systemClock.now();
    const store = await openSqliteStore({ dataDir, now, pid: process.pid, evenIfMoved: true });
    await writeFollowing(store);
    return { release: () => store.close() };
  } catch (error) {
    if (error instanceof Error && error.name === "DataFolderInUseError") return null;
    throw error;
  }
}

async function openDatabaseSource(url: string, masterKeys: () => MasterKeys): Promise<MoveFrom> {
  const { openPostgresMoveSource } = await import("../../store/postgres/move/moving-source.ts");
  const source = await openPostgresMoveSource(url);
  return {
    place: source.place,
    rows: source,
    digestKey: () => source.digestKey(),
    stop: () => stopDatabase(source, url, masterKeys),
    isServed: () => source.isServed(),
    markMoved: (to) => source.markMoved(to),
    movedTo: async () => {
      const to = await source.movedTo();
      return to?.place === incompletePlace ? null : to;
    },
  };
}

const incompletePlace = "a different store, which is incomplete";

/**
 * Marks the database first, so that no server can start in the meantime. Then counts the facts that were written but
 * not counted.
 */
async function stopDatabase(
  source: PostgresMoveSource,
  url: string,
  masterKeys: () => MasterKeys,
): Promise<Stopped | null> {
  if (await source.isServed()) return null;
  await source.markMoved({ place: incompletePlace, at: systemClock.now() });
  const release: Stopped["release"] = async (moved) => {
    if (!moved) await source.markMoved(null);
  };
  try {
    if (!(await source.isServed())) {
      await countJournal(url, masterKeys);
      return { release };
    }
  } catch (error) {
    await release(false);
    throw error;
  }
  await release(false);
  return null;
}

/** Writes the remaining deliveries of large events, because their drafts are not moved. */
async function writeFollowing({ deliveries }: Pick<Store, "deliveries">): Promise<void> {
  while ((await deliveries.fanOut()) !== null);
}

/** Counts the facts left behind by processes that have ended. */
async function countJournal(url: string, masterKeys: () => MasterKeys): Promise<void> {
  const { openPostgresStore } = await import("../../store/postgres/open.ts");
  const now = systemClock.now();
  const masterKeyIds = masterKeyIdsOf(masterKeys());
  const store = await openPostgresStore({ url, now, masterKeyIds, evenIfMoved: true });
  try {
    while ((await store.statistics.recover(Number.MAX_SAFE_INTEGER)).more);
    await writeFollowing(store);
  } finally {
    await store.close();
  }
}

/** Throws any error that opening the target would throw, without changing anything. */
export async function judgeTarget(to: string, source: string): Promise<void> {
  if (!isPostgres(to)) return;
  const { judgePostgresMoveTarget } = await import("../../store/postgres/move/open-moving.ts");
  await judgePostgresMoveTarget(to, source);
}

export async function openTarget(to: string, source: string, masterKeys: MasterKeys): Promise<MoveTo> {
  return isPostgres(to)
    ? openDatabaseTarget(to, source, masterKeys)
    : openFolderTarget(to, source, masterKeys);
}

async function openDatabaseTarget(to: string, source: string, masterKeys: MasterKeys): Promise<MoveTo> {
  const { openPostgresMoveTarget } = await import("../../store/postgres/move/open-moving.ts");
  const { rows, place, digestKey } = await openPostgresMoveTarget({
    url: to,
    now: systemClock.now(),
    source,
    masterKeyIds: masterKeyIdsOf(masterKeys),
  });
  return { rows, place, keepDigestKey: (sealed) => digestKey.replace(sealed) };
}

/** Stores the master key in the folder, because a server would otherwise create a new one there. */
async function openFolderTarget(to: string, source: string, masterKeys: MasterKeys): Promise<MoveTo> {
  const { openSqliteMoveTarget } = await import("../../store/sqlite/move/open-moving.ts");
  const { folder } = prepareDataFolder(to);
  keepMasterKey(folder, masterKeys);
  const now = systemClock.now();
  return {
    place: folder.path,
    rows: await openSqliteMoveTarget({ dataDir: folder.path, now, pid: process.pid, source }),
    keepDigestKey: async (sealed) => {
      const file = createDigestKeyFile(folder.digestKeyFile);
      await file.create(sealed);
      await file.replace(sealed);
    },
  };
}

function keepMasterKey({ masterKeyFile }: DataFolder, { current }: MasterKeys): void {
  const text = Buffer.from(current).toString("base64");
  const kept = readOrCreateKeyFile(masterKeyFile, () => text);
  if (kept.text !== text) throw new OtherMasterKeyError(masterKeyFile);
}

function masterKeyIdsOf({ current, previous }: MasterKeys) {
  return { current: masterKeyId(current), previous: previous.map(masterKeyId) };
}
