import type { Settings } from "../../config/options.ts";
import { isTargetFull, movedAlready, movedParts } from "../../store/moved-parts.ts";
import { createSystemRandom } from "../../system/random.ts";
import { dataFolderAt } from "../data-folder.ts";
import { type MasterKeys, readMasterKeys } from "../keys.ts";
import { isPostgres, judgeTarget, type MoveFrom, openSource, openTarget } from "./move-ends.ts";
import { type MoveNews, type MoveReport, moveStore } from "./move-store.ts";

/** Source and target: data folders, or URLs of PostgreSQL databases. */
export interface MoveRequest {
  readonly from: string;
  readonly to: string;
  readonly settings: Pick<Settings, "masterKey" | "masterKeyPrevious">;
}

/** What a move would copy. */
export interface MovePlan {
  readonly from: string;
  /** Whether a server is currently using the source. */
  readonly served: boolean;
  readonly parts: readonly { readonly part: string; readonly rows: number }[];
}

/** Inspects both ends without changing anything. */
export async function planMove(request: MoveRequest): Promise<MovePlan> {
  const { from, to } = request;
  const source = await openSource(from, () => masterKeysOf(request), true);
  try {
    await unlessMoved(source, () => judgeTarget(to, source.place));
    await source.rows.freeze();
    const parts: { part: string; rows: number }[] = [];
    for (const part of movedParts) parts.push({ part: part.name, rows: await source.rows.count(part) });
    return { from: source.place, served: await source.isServed(), parts };
  } finally {
    await source.rows.close();
  }
}

export async function runMove(
  request: MoveRequest,
  tell: (news: MoveNews) => void,
  pause: () => Promise<void>,
): Promise<MoveReport & { readonly to: string }> {
  const { from, to } = request;
  const source = await openSource(from, () => masterKeysOf(request), false);
  try {
    const masterKeys = masterKeysOf(request);
    const target = await unlessMoved(source, () => openTarget(to, source.place, masterKeys));
    try {
      const report = await moveStore(source, target, tell, pause, () => performance.now());
      return { ...report, to: target.place };
    } finally {
      await target.rows.close();
    }
  } finally {
    await source.rows.close();
  }
}

/**
 * If the target is not empty because the move already completed, throws an error that says so. An interrupted move is
 * resumed.
 */
async function unlessMoved<Opened>(source: MoveFrom, open: () => Promise<Opened>): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    const movedTo = isTargetFull(error) ? await source.movedTo() : null;
    throw movedTo === null ? error : movedAlready(source.place, movedTo);
  }
}

/** Allows servers to use a store again after a move. */
export async function reopenMoved(request: Omit<MoveRequest, "to">): Promise<void> {
  const source = await openSource(request.from, () => masterKeysOf(request), false);
  try {
    await source.markMoved(null);
  } finally {
    await source.rows.close();
  }
}

/**
 * Returns the master keys of the source. Secrets are moved in sealed form, so both ends need the same key. If no key is
 * set, the key of the folder is used.
 */
function masterKeysOf({ from, settings }: Pick<MoveRequest, "from" | "settings">): MasterKeys {
  if (settings.masterKey === null && isPostgres(from)) throw new MissingMasterKeyError();
  return readMasterKeys(settings, dataFolderAt(from), createSystemRandom());
}

/** Only a data folder contains its own master key, so a source database requires the setting. */
class MissingMasterKeyError extends Error {
  override readonly name = "KeySettingError";

  constructor() {
    super("set POSTHORN_MASTER_KEY to the master key of the source database");
  }
}
