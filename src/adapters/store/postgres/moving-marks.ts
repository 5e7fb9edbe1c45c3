import { type MovedTo, movedAway, movingHere } from "../moved-error.ts";
import type { Runner } from "./database.ts";

/** The progress of a move. While the table exists, no process serves from the database. */
export const movingTable = "posthorn.moving";
/** Where the contents moved to. */
const movedTable = "posthorn.moved";

/** Throws StoreMovedError if the database must not be served from. `at` is its address without credentials. */
export async function refuseMoved(runner: Runner, at: string): Promise<void> {
  const [found] = await runner.rows<[isMoving: boolean, isMoved: boolean]>(
    `SELECT to_regclass('${movingTable}') IS NOT NULL, to_regclass('${movedTable}') IS NOT NULL`,
  );
  if (found?.[0] === true) throw movingHere(at);
  const to = found?.[1] === true ? await readMark(runner) : null;
  if (to !== null) throw movedAway(at, to);
}

/** Where the contents moved to; null if they are here. */
export async function readMoved(runner: Runner): Promise<MovedTo | null> {
  const [found] = await runner.rows<[isMoved: boolean]>(`SELECT to_regclass('${movedTable}') IS NOT NULL`);
  return found?.[0] === true ? readMark(runner) : null;
}

async function readMark(runner: Runner): Promise<MovedTo | null> {
  const [row] = await runner.rows<[place: string, at: number]>(`SELECT place, at FROM ${movedTable}`);
  return row === undefined ? null : { place: row[0], at: row[1] };
}

/** Records where the contents moved to, or with null that the database is in service again. */
export async function markMoved(runner: Runner, to: MovedTo | null): Promise<void> {
  await runner.rows(`CREATE TABLE IF NOT EXISTS ${movedTable} (place text NOT NULL, at bigint NOT NULL)`);
  await runner.rows(`DELETE FROM ${movedTable}`);
  if (to === null) await runner.rows(`DROP TABLE ${movedTable}`);
  else await runner.rows(`INSERT INTO ${movedTable} VALUES ($1, $2)`, [to.place, to.at]);
}
