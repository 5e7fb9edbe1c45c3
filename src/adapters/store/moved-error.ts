/** Where the contents of a store moved to, and when (Unix milliseconds). */
export interface MovedTo {
  /** Without credentials. */
  readonly place: string;
  readonly at: number;
}

/** Serving from here would deliver messages twice, or deliver only some of them. */
class StoreMovedError extends Error {
  override readonly name = "StoreMovedError";
}

export function movedAway(store: string, { place, at }: MovedTo): StoreMovedError {
  return new StoreMovedError(
    `everything in ${store} moved to ${place} on ${new Date(at).toISOString().slice(0, 16)}Z; serve from there, or, to ` +
      "go back to what was here then, run: posthorn move --reopen",
  );
}

/** A repeated move, or one from a store that is no longer in service. */
export function movedAlready(store: string, { place, at }: MovedTo): StoreMovedError {
  return new StoreMovedError(
    `the move of ${store} is already complete: everything moved to ${place} on ${new Date(at).toISOString().slice(0, 16)}Z. ` +
      `Serve from there; to go back to what was in ${store} then, run: posthorn move --reopen ${store}`,
  );
}

export function movingHere(store: string): StoreMovedError {
  return new StoreMovedError(
    `a move into ${store} is not complete: run the same posthorn move again, it continues where it stopped`,
  );
}

export function noDatabaseIn(dataDir: string): StoreMovedError {
  return new StoreMovedError(`${dataDir} does not contain a Posthorn database`);
}

export function olderSchema(store: string): StoreMovedError {
  return new StoreMovedError(
    `${store} was last used by an older version: start this version on it once, then move`,
  );
}

/** Whether opening a move failed because the target is not empty. */
export function isTargetFull(error: unknown): boolean {
  return error instanceof StoreMovedError && error.message.endsWith(needsEmpty);
}

const needsEmpty = "a move needs an empty database";

export function holdsSomething(store: string, what: string): StoreMovedError {
  const name = what.split(" WHERE ")[0]?.replace("_", " ") ?? "";
  return new StoreMovedError(`${store} holds ${name} already: ${needsEmpty}`);
}

export function otherMoveInto(store: string, source: string): StoreMovedError {
  return new StoreMovedError(
    `a move from ${source} into ${store} has begun and is not complete: continue that one, or empty the database`,
  );
}
