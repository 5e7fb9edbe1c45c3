/**
 * One run of a database server, from its start to its end. After a failover, a restore or a crash another one serves the
 * same address, and may lack the last commits of the one before. Numbers of those commits (words, lanes, positions, workers)
 * are then given to something else, so whatever was remembered by number belongs to one incarnation.
 *
 * A restart that lost nothing is another incarnation too. That costs one refill of the caches.
 */
export interface Incarnation {
  readonly identity: string;
}

/**
 * When the server started, in microseconds since 1970: as a number, because the text of a time depends on settings of the
 * session. Anybody may ask, it costs nothing, and a pooler carries it like any statement.
 */
export const identityOf = "extract(epoch FROM pg_postmaster_start_time())::text";

/** A statement would have run on another incarnation than the one whose numbers it holds. Nothing of it was run. */
export class IncarnationChangedError extends Error {
  override readonly name = "IncarnationChangedError";

  constructor() {
    super("the database server was restarted or replaced");
  }
}

/**
 * Which incarnation the database is now: the one that was met last, because it is met over new connections only, and those
 * lead to where the address points now.
 */
export class Incarnations {
  readonly #listeners = new Set<() => void>();
  #current: Incarnation | null = null;
  #answeredMs = Number.NEGATIVE_INFINITY;

  /** Calls when another one than before was met; not for the first. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Null until a connection was made. */
  get current(): Incarnation | null {
    return this.#current;
  }

  /** A statement was answered. */
  answered(): void {
    this.#answeredMs = performance.now();
  }

  /** The present one, while somebody has heard of it in this time; else another one may have taken over. */
  heardOfWithin(ms: number): Incarnation | null {
    return performance.now() - this.#answeredMs <= ms ? this.#current : null;
  }

  met(identity: string): Incarnation {
    const before = this.#current;
    if (before?.identity === identity) return before;
    const now = { identity };
    this.#current = now;
    if (before !== null) for (const listener of this.#listeners) listener();
    return now;
  }
}
