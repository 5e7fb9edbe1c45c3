import { randomBytes } from "node:crypto";
import type pg from "pg";
import { Alarm } from "../../../ports/clock.ts";
import type { StoreChange, StoreChanges } from "../../../ports/store/changes.ts";
import type { PendingLane } from "../../../ports/store/ownership.ts";
import type { ControlConnection } from "../driver/control-connection.ts";
import type { Runner } from "../driver/database.ts";
import { realTime } from "../driver/driver.ts";
import { texts } from "../driver/sql.ts";
import type { StoreState } from "../state.ts";
import { configChangeOf, configChannel } from "./config-changes.ts";
import { pendingLanesIn } from "./ownership-sql.ts";

/** The channel of work announcements (`LISTEN posthorn_work`). */
const workChannel = "posthorn_work";

/**
 * Minimum interval between two announcements. The lanes of a busy process are announced together, because a
 * notification takes a lock that is shared by all databases of the server.
 */
const gatherMs = 20;
/** Delay before a retry after the database was unavailable. */
const againMs = 1_000;
/** If more lanes than this could not be announced, workers find them by polling. */
const againLanesMax = 10_000;
/** PostgreSQL rejects payloads of 8,000 bytes or more. */
const payloadBytesMax = 7_900;
/**
 * Maximum number of payloads. If more are needed, every process polls all lanes and reloads the whole configuration
 * instead.
 */
const payloadsMax = 16;

type AnnouncerState = Pick<StoreState, "database" | "lanes" | "processNumber" | "membership">;

/**
 * Announces lanes in which this process stored work: through a queue, or by notification if none is configured or it is
 * unavailable. It does so after the commit and not within it, because a notification makes the commits of all notifying
 * transactions wait for each other. Polling finds the lanes whose announcement is lost in a crash.
 *
 * A process does not announce its own webhooks to itself: each announcement would cause a check, a claim, a release and
 * another announcement.
 */
export class Announcer {
  readonly #state: AnnouncerState;
  readonly #queue: PendingLaneQueue | null;
  readonly #lanes = new Set<number>();
  readonly #alarm = new Alarm(realTime);
  #sending: Promise<void> = Promise.resolve();
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(state: AnnouncerState, queue: PendingLaneQueue | null) {
    this.#state = state;
    this.#queue = queue;
  }

  announce(lanes: Iterable<number>): void {
    for (const lane of lanes) this.#lanes.add(lane);
    if (this.#lanes.size > 0) this.#later(gatherMs - (performance.now() - this.#sentAtMs));
  }

  /** Drops the lanes that are not announced yet. */
  abandon(): void {
    this.#closed = true;
    this.#alarm.close();
    this.#lanes.clear();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#alarm.close();
    await this.#sending;
    await this.#send();
  }

  #later(delayMs: number): void {
    if (this.#alarm.isSet) return;
    this.#alarm.set(Math.max(0, delayMs), () => {
      this.#sentAtMs = performance.now();
      const before = this.#sending;
      this.#sending = this.#send().then(() => before);
    });
  }

  async #send(): Promise<void> {
    if (this.#lanes.size === 0) return;
    const lanes = [...this.#lanes];
    this.#lanes.clear();
    const { database, processNumber } = this.#state;
    try {
      if (await this.#queued(lanes)) return;
      await database.rows("SELECT FROM unnest($2::text[]) AS payload, pg_notify($1, payload)", [
        workChannel,
        texts(payloadsOf(processNumber, lanes)),
      ]);
    } catch {
      if (this.#closed) return;
      // The failure may affect only this connection. If the announcement were not repeated, owners would not poll for
      // half a minute.
      if (lanes.length > againLanesMax) return;
      for (const lane of lanes) this.#lanes.add(lane);
      this.#later(againMs);
    }
  }

  /** Look up the owners only now: a webhook without an owner at the commit may have been acquired since. */
  async #queued(lanes: readonly number[]): Promise<boolean> {
    if (this.#queue?.isOpen() !== true) return false;
    const pending = await pendingLanesIn(this.#state, lanes);
    const self = this.#state.membership.worker;
    return this.#queue.announce(pending.filter(({ worker }) => worker === null || worker !== self));
  }
}

/** An alternative way to announce work to workers. */
export interface PendingLaneQueue {
  /** Whether the queue can currently carry hints. If not, the caller does not need to look up the lanes. */
  isOpen(): boolean;
  /** Returns false if the queue did not accept all hints. */
  announce(lanes: readonly PendingLane[]): boolean;
}

function payloadsOf(processNumber: number, lanes: readonly number[]): readonly string[] {
  const payloads: string[] = [];
  let payload = "";
  for (const lane of lanes) {
    const longer = payload === "" ? `${processNumber}:${lane}` : `${payload},${lane}`;
    if (longer.length <= payloadBytesMax) {
      payload = longer;
      continue;
    }
    payloads.push(payload);
    payload = `${processNumber}:${lane}`;
  }
  payloads.push(payload);
  return payloads.length <= payloadsMax ? payloads : [`${processNumber}:*`];
}

/**
 * The lanes of an announcement; null if all lanes must be checked; undefined if the announcement is our own or
 * unreadable.
 */
export function lanesOf(payload: string, processNumber: number): readonly number[] | null | undefined {
  const [sender, list] = payload.split(":");
  if (sender === undefined || list === undefined || Number(sender) === processNumber) return undefined;
  if (list === "*") return null;
  const lanes = list.split(",").map(Number);
  return lanes.every(Number.isSafeInteger) ? lanes : undefined;
}

export interface NotificationsOptions {
  /** A direct connection to the server, because a pooler in transaction mode does not forward notifications. */
  readonly control: ControlConnection;
  /** The process number and the lanes of the current server run. */
  readonly numbers: () => Pick<StoreState, "processNumber" | "lanes">;
  /** Connections other than the listening one. They are reopened every few seconds. */
  readonly announcing: Runner;
}

/** How often the process verifies that it receives announcements. */
const proofMs = 2_000;
/** If no proof arrives within this time, the process listens again on a new connection. */
const silentMsMax = 5_000;

/** The commit waits for neither disk nor standby, because its effect does not need to survive a crash. */
const proofSql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')";

/**
 * The counterpart of announcer.ts and config-changes.ts: receives the announcements of other processes, starting with the
 * first listener. Whenever it starts listening again, it notifies listeners that they may have missed announcements.
 *
 * A connection that responds proves nothing: it may lead to a server that the other processes no longer use. So the process
 * sends itself a notification every few seconds, over one of the announcing connections. If the notification does not
 * arrive, the process listens again on a new connection.
 */
export class Notifications implements StoreChanges {
  readonly carriesWork = true;
  readonly #options: NotificationsOptions;
  readonly #listeners = new Set<(change: StoreChange) => void>();
  readonly #proofChannel: string;
  #timer: NodeJS.Timeout | null = null;
  #heardMs = 0;
  /** How long the previous connection had received nothing when it was dropped. */
  #silentMs: number | undefined;
  #isProving = false;

  constructor(options: NotificationsOptions) {
    this.#options = options;
    this.#proofChannel = `posthorn_proof_${randomBytes(6).toString("hex")}`;
  }

  subscribe(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    if (this.#timer === null) this.#start();
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#listeners.clear();
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #start(): void {
    this.#options.control.keepOpen({ opened: (client) => this.#listen(client) });
    this.#timer = setInterval(() => void this.#prove(), proofMs);
    this.#timer.unref();
  }

  async #listen(client: pg.Client): Promise<void> {
    client.on("notification", ({ channel, payload = "" }) => {
      if (channel === this.#proofChannel) this.#heardMs = performance.now();
      else if (channel === configChannel) this.#heardConfig(payload);
      else void this.#heard(payload);
    });
    await client.query(`LISTEN ${workChannel}; LISTEN ${configChannel}; LISTEN ${this.#proofChannel}`);
    this.#heardMs = performance.now();
    this.#notify({ kind: "unknown", ...(this.#silentMs !== undefined && { silentMs: this.#silentMs }) });
    this.#silentMs = undefined;
  }

  async #prove(): Promise<void> {
    const { control, announcing } = this.#options;
    const silentMs = performance.now() - this.#heardMs;
    if (control.isOpen && silentMs > silentMsMax) {
      this.#silentMs = silentMs;
      control.abandon();
    }
    if (this.#isProving) return;
    this.#isProving = true;
    // If this notification cannot be sent, other processes cannot announce anything either. The next check decides
    // whether to listen again.
    await announcing.rows(proofSql, [this.#proofChannel]).catch(() => undefined);
    this.#isProving = false;
  }

  async #heard(payload: string): Promise<void> {
    const { processNumber, lanes } = this.#options.numbers();
    const refs = lanesOf(payload, processNumber);
    if (refs === undefined) return;
    if (refs === null) return this.#notify({ kind: "unknown" });
    try {
      await lanes.load(refs);
      this.#notify({ kind: "lanes", lanes: refs.map((ref) => lanes.byRef(ref).key) });
    } catch {
      this.#notify({ kind: "unknown" });
    }
  }

  #heardConfig(payload: string): void {
    const change = configChangeOf(payload, this.#options.numbers().processNumber);
    if (change !== null) this.#notify({ kind: "config", change });
  }

  #notify(change: StoreChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
