/**
 * One run of a database server, from its start to its end. After a failover, a restore or a crash, another server run
 * has the same address and may lack the last commits of the previous one. Numbers from those commits (strings, lanes,
 * positions, workers) are then assigned to something else, so everything cached by number belongs to one server run.
 *
 * A restart that lost nothing is another server run too. That costs one refill of the caches.
 */
export interface Incarnation {
  readonly identity: string;
}

/**
 * When the server started, in microseconds since 1970. A number, because the text of a time depends on session
 * settings. Every user may read it, it costs nothing, and it works through a pooler.
 */
export const identityOf = "extract(epoch FROM pg_postmaster_start_time())::text";

/** A statement would have run on another server run than the one whose numbers it holds. It was not executed. */
export class IncarnationChangedError extends Error {
  override readonly name = "IncarnationChangedError";

  constructor() {
    super("the database server was restarted or replaced");
  }
}

/**
 * The current server run: the one found last, because it is read over new connections only, and those lead to where the
 * address points now.
 */
export class Incarnations {
  readonly #listeners = new Set<() => void>();
  #current: Incarnation | null = null;
  #answeredMs = Number.NEGATIVE_INFINITY;

  /** Called when a different server run is found; not for the first. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Null until a connection was opened. */
  get current(): Incarnation | null {
    return this.#current;
  }

  /** A statement was answered. */
  answered(): void {
    this.#answeredMs = performance.now();
  }

  /** The current server run, if the server answered within this time; otherwise another one may have taken over. */
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
