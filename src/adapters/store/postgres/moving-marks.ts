import { movingHere } from "../moved-error.ts";
import type { Runner } from "./database.ts";

/** What a move has done so far. While the table is there, nobody serves from the database. */
export const movingTable = "posthorn.moving";

/** Throws StoreMovedError where the database must not be served from. `at` is its address without credentials. */
export async function refuseMoved(runner: Runner, at: string): Promise<void> {
  const [found] = await runner.rows<[isMoving: boolean]>(`SELECT to_regclass('${movingTable}') IS NOT NULL`);
  if (found?.[0] === true) throw movingHere(at);
}
