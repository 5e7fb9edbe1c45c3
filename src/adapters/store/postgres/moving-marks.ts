import { type MovedTo, movedAway, movingHere } from "../moved-error.ts";
import type { Runner } from "./database.ts";

/** What a move has done so far. While the table is there, nobody serves from the database. */
export const movingTable = "posthorn.moving";
const movedTable = "posthorn.moved";

/** Throws StoreMovedError where the database must not be served from. `at` is its address without credentials. */
export async function refuseMoved(runner: Runner, at: string): Promise<void> {
  const [found] = await runner.rows<[isMoving: boolean, isMoved: boolean]>(
    `SELECT to_regclass('${movingTable}') IS NOT NULL, to_regclass('${movedTable}') IS NOT NULL`,
  );
  if (found?.[0] === true) throw movingHere(at);
  if (found?.[1] !== true) return;
  const [row] = await runner.rows<[document: string]>(`SELECT document FROM ${movedTable}`);
  if (row !== undefined) throw movedAway(at, JSON.parse(row[0]) as MovedTo);
}

/** Notes where everything went, or with null that the database is served from again. */
export async function markMoved(runner: Runner, to: MovedTo | null): Promise<void> {
  await runner.rows(`DROP TABLE IF EXISTS ${movedTable}`);
  if (to === null) return;
  const document = JSON.stringify(to).replaceAll("'", "''");
  await runner.rows(`CREATE TABLE ${movedTable} AS SELECT '${document}'::text AS document`);
}
