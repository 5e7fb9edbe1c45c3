import { movedParts } from "../../adapters/store/moved-parts.ts";
import { createSystemRandom } from "../../adapters/system/random.ts";
import type { Settings } from "../../config/options.ts";
import { dataFolderAt } from "../data-folder.ts";
import { type MasterKeys, readMasterKeys } from "../keys.ts";
import { isTargetFull, movedAlready } from "../../adapters/store/moved-error.ts";
import { isPostgres, judgeTarget, type MoveFrom, openSource, openTarget } from "./move-ends.ts";
import { type MoveNews, type MoveReport, moveStore } from "./move-store.ts";

/** Both ends: a data folder, or the address of a PostgreSQL database. */
export interface MoveRequest {
  readonly from: string;
  readonly to: string;
  readonly settings: Pick<Settings, "masterKey" | "masterKeyPrevious">;
}

/** What a move would take over. */
export interface MovePlan {
  readonly from: string;
  /** Whether a server works on the source now. */
  readonly served: boolean;
  readonly parts: readonly { readonly part: string; readonly rows: number }[];
}

/** Looks at both ends and changes nothing. */
export async function planMove(request: MoveRequest): Promise<MovePlan> {
  const { from, to } = request;
  const source = await openSource(from, { masterKeys: () => masterKeysOf(request), isLook: true });
  try {
    await unlessMoved(source, () => judgeTarget(to, { source: source.place }));
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
  watch: { readonly tell: (news: MoveNews) => void; readonly pause: () => Promise<void> },
): Promise<MoveReport & { readonly to: string }> {
  const { from, to } = request;
  const source = await openSource(from, { masterKeys: () => masterKeysOf(request), isLook: false });
  try {
    const masterKeys = masterKeysOf(request);
    const target = await unlessMoved(source, () => openTarget(to, { source: source.place, masterKeys }));
    try {
      const report = await moveStore({ from: source, to: target, now: () => performance.now(), ...watch });
      return { ...report, to: target.place };
    } finally {
      await target.rows.close();
    }
  } finally {
    await source.rows.close();
  }
}

/** Says that the move is complete where the target is full because of it. A move that was cut off goes on. */
async function unlessMoved<Opened>(source: MoveFrom, open: () => Promise<Opened>): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    const movedTo = isTargetFull(error) ? await source.movedTo() : null;
    throw movedTo === null ? error : movedAlready(source.place, movedTo);
  }
}

/** Serving from a store that everything moved from is allowed again. */
export async function reopenMoved(request: Omit<MoveRequest, "to">): Promise<void> {
  const source = await openSource(request.from, { masterKeys: () => masterKeysOf(request), isLook: false });
  try {
    await source.markMoved(null);
  } finally {
    await source.rows.close();
  }
}

/** Secrets move as they are sealed, so both ends have the same key. Without a setting it is that of the folder. */
function masterKeysOf({ from, settings }: Pick<MoveRequest, "from" | "settings">): MasterKeys {
  if (settings.masterKey === null && isPostgres(from)) throw new MissingMasterKeyError();
  return readMasterKeys(settings, { folder: dataFolderAt(from), random: createSystemRandom() });
}

/** Only a folder has its key beside it. */
class MissingMasterKeyError extends Error {
  override readonly name = "KeySettingError";

  constructor() {
    super("set POSTHORN_MASTER_KEY to the key of the database that is moved from");
  }
}
