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
 * Minimum time between two announcements. The lanes of a busy process are announced together, because a notification
 * takes a lock that all databases of the server share.
 */
const gatherMs = 20;
/** Pause after the database was unavailable. */
const againMs = 1_000;
/** Beyond this number, workers find the lanes by polling. */
const againLanesMax = 10_000;
/** PostgreSQL refuses payloads of 8,000 bytes. */
const payloadBytesMax = 7_900;
/** With more payloads, every process polls all lanes, and reads all configuration again. */
const payloadsMax = 16;

type AnnouncerState = Pick<StoreState, "database" | "lanes" | "processNumber" | "membership">;

/**
 * Announces lanes in which this process stored work: through a queue, or by notification if none is configured or it is
 * unavailable. It does so after the commit and not within it, because a notification makes the commits of all notifying
 * transactions wait for each other. Polling finds the lanes that a crash loses.
 *
 * A process does not announce its own webhooks. Notifying itself would loop: look, claim, release, notify.
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
      // Only one connection may be lost while the others work. Without a repeat, owners would not poll for half a
      // minute.
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

/** Another way to announce work to workers. */
export interface PendingLaneQueue {
  /** False when it cannot carry hints now, which saves looking up the lanes. */
  isOpen(): boolean;
  /** False when it did not carry all hints. */
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

/** The lanes of an announcement, or null for "look everywhere"; undefined when it is our own or unreadable. */
export function lanesOf(payload: string, processNumber: number): readonly number[] | null | undefined {
  const [sender, list] = payload.split(":");
  if (sender === undefined || list === undefined || Number(sender) === processNumber) return undefined;
  if (list === "*") return null;
  const lanes = list.split(",").map(Number);
  return lanes.every(Number.isSafeInteger) ? lanes : undefined;
}

export interface NotificationsOptions {
  /** A direct connection to the server: a pooler in transaction mode does not carry notifications. */
  readonly control: ControlConnection;
  /** The parts of the current server run. */
  readonly numbers: () => Pick<StoreState, "processNumber" | "lanes">;
  /** Connections other than the listening one, reopened every few seconds. */
  readonly announcing: Runner;
}

/** How often it verifies that it receives what others announce now. */
const proofMs = 2_000;
/** Without a proof for this time, it listens again. */
const silentMsMax = 5_000;

/** Does not need to survive a crash, so it waits for no disk and no standby. */
const proofSql = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')";

/**
 * The counterpart of announcer.ts and config-changes.ts: receives announcements of other processes, from the first
 * listener on. Whenever it listens again, listeners are notified that they may have missed something.
 *
 * An answering connection proves nothing: it may lead to a server that others left. So it sends itself a notification
 * every few seconds, over one of the announcing connections, and listens again when none arrives.
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
    // While nothing can be announced, nothing can be missed; the next proof decides.
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
