import type { LaneLeft } from "../../../ports/store/ownership.ts";
import { texts } from "./columns.ts";
import type { StoreState } from "./state.ts";
import { workLeftIn } from "./work-left.ts";

/** Where work is announced; `LISTEN posthorn_work` hears it. */
export const workChannel = "posthorn_work";

/**
 * Least time between two announcements. What a busy process leaves meanwhile goes together, because a notification takes
 * a lock that all databases share.
 */
const gatherMs = 20;
/** After the database could not be asked. */
const againMs = 1_000;
/** More than that is left for those who look by themselves. */
const againLanesMax = 10_000;
/** PostgreSQL refuses payloads of 8,000 bytes. */
const payloadBytesMax = 7_900;
/** With more, everybody looks everywhere, and reads all configuration again. */
const payloadsMax = 16;

type AnnouncerState = Pick<StoreState, "database" | "lanes" | "owner" | "membership">;

/**
 * Tells other processes in which lanes this one has left work: through a queue, or by notification where there is none or
 * it carries nothing now. After the commit and not within, because a notification makes the commits of all transactions
 * that send one wait for each other. What is lost in a crash, polling finds.
 *
 * What this process owns it tells nobody: it knows what it left there, and a word to itself would make it look, claim and
 * give back, which is a reason for the next word.
 */
export class Announcer {
  readonly #state: AnnouncerState;
  readonly #queue: WorkLeftQueue | null;
  readonly #lanes = new Set<number>();
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> = Promise.resolve();
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(state: AnnouncerState, queue: WorkLeftQueue | null) {
    this.#state = state;
    this.#queue = queue;
  }

  announce(lanes: Iterable<number>): void {
    for (const lane of lanes) this.#lanes.add(lane);
    if (this.#lanes.size > 0) this.#later(gatherMs - (performance.now() - this.#sentAtMs));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#sending;
    await this.#send();
  }

  #later(delayMs: number): void {
    if (this.#timer !== null || this.#closed) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#sentAtMs = performance.now();
        const before = this.#sending;
        this.#sending = this.#send().then(() => before);
      },
      Math.max(0, delayMs),
    );
  }

  async #send(): Promise<void> {
    if (this.#lanes.size === 0) return;
    const lanes = [...this.#lanes];
    this.#lanes.clear();
    const { database, owner } = this.#state;
    try {
      if (await this.#queued(lanes)) return;
      await database.rows("SELECT FROM unnest($2::text[]) AS payload, pg_notify($1, payload)", [
        workChannel,
        texts(payloadsOf(owner, lanes)),
      ]);
    } catch {
      // One connection may have been lost, while all others work: owners would not look by themselves for half a minute.
      if (lanes.length > againLanesMax) return;
      for (const lane of lanes) this.#lanes.add(lane);
      this.#later(againMs);
    }
  }

  /** Asks who owns them only now: what was nobody's at the commit may have been taken since. */
  async #queued(lanes: readonly number[]): Promise<boolean> {
    if (this.#queue?.isOpen() !== true) return false;
    const left = await workLeftIn(this.#state, lanes);
    const self = this.#state.membership.worker;
    return this.#queue.left(left.filter(({ worker }) => worker === null || worker !== self));
  }
}

/** Another way to tell workers where work is. */
export interface WorkLeftQueue {
  /** False when nothing would be carried now, which saves the look into the lanes. */
  isOpen(): boolean;
  /** False when something was not carried. */
  left(lanes: readonly LaneLeft[]): boolean;
}

function payloadsOf(owner: number, lanes: readonly number[]): readonly string[] {
  const payloads: string[] = [];
  let payload = "";
  for (const lane of lanes) {
    const longer = payload === "" ? `${owner}:${lane}` : `${payload},${lane}`;
    if (longer.length <= payloadBytesMax) {
      payload = longer;
      continue;
    }
    payloads.push(payload);
    payload = `${owner}:${lane}`;
  }
  payloads.push(payload);
  return payloads.length <= payloadsMax ? payloads : [`${owner}:*`];
}

/** The lanes of an announcement, or null for "look everywhere"; undefined when it is our own or nobody's. */
export function lanesOf(payload: string, owner: number): readonly number[] | null | undefined {
  const [sender, list] = payload.split(":");
  if (sender === undefined || list === undefined || Number(sender) === owner) return undefined;
  if (list === "*") return null;
  const lanes = list.split(",").map(Number);
  return lanes.every(Number.isSafeInteger) ? lanes : undefined;
}
