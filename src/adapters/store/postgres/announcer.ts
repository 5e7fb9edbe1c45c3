import type { Database } from "./database.ts";

/** Where work is announced; `LISTEN posthorn_work` hears it. */
export const workChannel = "posthorn_work";

/** Work of this many milliseconds is announced together: a notification takes a lock that all databases share. */
const gatherMs = 20;
/** PostgreSQL refuses payloads of 8,000 bytes. */
const payloadBytesMax = 7_900;

/**
 * Tells other processes in which lanes this one has left work. After the commit and not within, because a notification
 * makes the commits of all transactions that send one wait for each other. What is lost in a crash, polling finds.
 */
export class Announcer {
  readonly #database: Database;
  readonly #owner: number;
  readonly #lanes = new Set<number>();
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(database: Database, owner: number) {
    this.#database = database;
    this.#owner = owner;
  }

  announce(lanes: Iterable<number>): void {
    for (const lane of lanes) this.#lanes.add(lane);
    if (this.#lanes.size === 0 || this.#timer !== null || this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#send();
    }, gatherMs);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#send();
  }

  async #send(): Promise<void> {
    if (this.#lanes.size === 0) return;
    const payload = payloadOf(this.#owner, this.#lanes);
    this.#lanes.clear();
    try {
      await this.#database.rows("SELECT FROM pg_notify($1, $2)", [workChannel, payload]);
    } catch {
      // The database is away; processes that come back look everywhere.
    }
  }
}

function payloadOf(owner: number, lanes: ReadonlySet<number>): string {
  const whole = `${owner}:${[...lanes].join(",")}`;
  return whole.length <= payloadBytesMax ? whole : `${owner}:*`;
}

/** The lanes of an announcement, or null for "look everywhere"; undefined when it is our own or nobody's. */
export function lanesOf(payload: string, owner: number): readonly number[] | null | undefined {
  const [sender, list] = payload.split(":");
  if (sender === undefined || list === undefined || Number(sender) === owner) return undefined;
  if (list === "*") return null;
  const lanes = list.split(",").map(Number);
  return lanes.every(Number.isSafeInteger) ? lanes : undefined;
}
