import { loggedError } from "./limited-log.ts";
import { randomUUID } from "node:crypto";
import { PosthornError } from "../../domain/errors.ts";
import { type Connection, isHolding } from "./source.ts";
import type { EngineAccess } from "../../engine/engine-access.ts";
import { type Clock, Loop } from "../../ports/clock.ts";
import type { GatewayStore, HeldMessage, SettledMessage } from "../../ports/store/gateway.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import type { Logger } from "../../ports/telemetry.ts";
import { newReplay, requireAccepted } from "../deliveries/redelivery.ts";
import type { GatewayDirectory } from "./gateway-directory.ts";
import type { KeyedQueue } from "../keyed-queue.ts";

export interface HeldMessagesOptions {
  readonly store: Pick<
    GatewayStore,
    "held" | "heldCounts" | "connectionsWithHeld" | "settleHeld" | "connections" | "endRelease" | "answers"
  >;
  readonly history: Pick<HistoryStore, "getEvent">;
  readonly directory: Pick<
    GatewayDirectory,
    "connection" | "connections" | "connectionsOf" | "setConnection"
  >;
  readonly access: Pick<EngineAccess, "gateway" | "nextId" | "placeOf" | "requeue" | "webhook">;
  /** Serializes changes by connection ID; the end of a release is one of these changes. */
  readonly changes: KeyedQueue;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The connections that route a message, and a callback for when it is stored or refused. */
export interface Turn {
  readonly connections: readonly Connection[];
  readonly ended: () => void;
}

/** Maximum number of messages sent by one step of a release. Their events are in memory concurrently. */
const stepSize = 100;
/** Maximum number of connections released concurrently. Other releases alternate with them, one step at a time. */
const stepsAtOnce = 4;
const lookEveryMs = 60_000;
/**
 * For this long after a connection is resumed, other processes may still hold messages, because they have not read the
 * change yet.
 */
const afterResumeMs = 2_000;
/** One process releases a connection at a time. If it crashes, another may take over after this time. */
const claimMs = 30_000;
/** Held messages are counted up to this number. */
const heldCountMax = 10_000;

/**
 * Stores messages that arrive while their connection is paused, so a crash loses none of them. A resumed connection is
 * open immediately and sends its held messages in the background, oldest first. Until all held messages are sent, new
 * messages join the end of the queue (docs/decisions/held-messages.md).
 */
export class HeldMessages {
  readonly #options: HeldMessagesOptions;
  readonly #looking: Loop;
  /** Connections that wait for their next step, in round-robin order. */
  readonly #waiting = new Set<string>();
  readonly #steps = new Map<string, Promise<void>>();
  /** Sources whose new messages are blocked while a release ends. */
  readonly #gates = new Map<string, Promise<null>>();
  /** Number of messages of a source that are being stored. `idle` is called when the last of them has been stored. */
  readonly #turns = new Map<string, { count: number; idle: (() => void) | null }>();

  constructor(options: HeldMessagesOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#looking = new Loop({
      clock,
      round: () => this.#look(),
      pauseMs: () => lookEveryMs,
      failed: (error) => log.warn({ err: loggedError(error) }, "searching for held messages failed"),
    });
  }

  start(): void {
    this.#looking.start();
    this.#looking.soon(0);
  }

  async stop(): Promise<void> {
    await this.#looking.stop();
    await Promise.all(this.#steps.values());
  }

  /** Sends the held messages of a connection in the background. The connection is already stored as open. */
  release(connectionId: string): void {
    this.#waiting.add(connectionId);
    this.#work();
    this.#looking.soon(afterResumeMs);
  }

  /**
   * Waits until a message of the source may be routed. New messages are blocked between the last held message and the
   * end of a release, because they would otherwise overtake held messages.
   */
  async turn(sourceId: string): Promise<Turn> {
    for (let gate = this.#gates.get(sourceId); gate !== undefined; gate = this.#gates.get(sourceId))
      await gate;
    const connections = this.#options.directory.connectionsOf(sourceId);
    if (!connections.some(isHolding)) return { connections, ended: () => undefined };
    const turns = this.#turns.get(sourceId) ?? { count: 0, idle: null };
    this.#turns.set(sourceId, turns);
    turns.count += 1;
    return {
      connections,
      ended: () => {
        turns.count -= 1;
        if (turns.count > 0) return;
        this.#turns.delete(sourceId);
        turns.idle?.();
      },
    };
  }

  /** Number of held messages per connection. An open connection without a release has no held messages. */
  counts(connections: readonly Connection[]): Promise<ReadonlyMap<string, number>> {
    const connectionIds = connections.filter(isHolding).map(({ id }) => id);
    if (connectionIds.length === 0) return Promise.resolve(new Map());
    return this.#options.store.heldCounts({ connectionIds, countMax: heldCountMax });
  }

  /** Finds releases that a crash or another process left unfinished, and held messages of deleted connections. */
  async #look(): Promise<void> {
    const { store, directory } = this.#options;
    const ids = new Set(await store.connectionsWithHeld());
    for (const { id, releasingSince } of directory.connections()) if (releasingSince !== null) ids.add(id);
    if (ids.size === 0) return;
    const stored = new Set((await store.connections()).map(({ id }) => id));
    for (const id of ids) {
      if (this.#looking.isStopped) return;
      if (stored.has(id)) this.#waiting.add(id);
      else await this.#forget(id);
    }
    this.#work();
  }

  async #forget(connectionId: string): Promise<void> {
    const { store } = this.#options;
    const failed = { result: "failed", detail: "the connection was deleted" } as const;
    while (!this.#looking.isStopped) {
      const messages = await store.held({ connectionId, after: null, limit: stepSize });
      if (messages.length === 0) return;
      await store.settleHeld(messages.map((message) => settledAs(message, failed)));
    }
  }

  #work(): void {
    for (const id of this.#waiting) {
      if (this.#looking.isStopped || this.#steps.size >= stepsAtOnce) return;
      if (this.#steps.has(id)) continue;
      this.#waiting.delete(id);
      this.#steps.set(id, this.#stepOf(id));
    }
  }

  async #stepOf(id: string): Promise<void> {
    let isDone = true;
    try {
      isDone = await this.#step(id);
    } catch (error) {
      const fields = {
        err: error instanceof PosthornError ? error.message : loggedError(error),
        connectionId: id,
      };
      this.#options.log.warn(fields, "sending held messages failed; they stay queued");
    }
    this.#steps.delete(id);
    if (!isDone) this.#waiting.add(id);
    this.#work();
  }

  /** Runs the next step of a release. Returns true if the connection currently has no more work. */
  async #step(id: string): Promise<boolean> {
    const connection = this.#options.directory.connection(id);
    if (connection === undefined || connection.pausedAt !== null) return true;
    const sent = await this.#sendSome(connection);
    if (sent === null) return true;
    if (sent >= stepSize) return false;
    return connection.releasingSince === null ? sent === 0 : this.#end(connection);
  }

  /**
   * Blocks new messages of the source while the last held messages are sent and the connection is marked as released.
   * Otherwise, a steady sender would keep the release from ending, or its messages would overtake each other. Returns
   * false if other processes have held more messages.
   */
  async #end(connection: Connection): Promise<boolean> {
    const { store, directory, changes } = this.#options;
    const { id, sourceId, releasingSince } = connection;
    // If another connection of the same source is ending its release, the next step of this connection tries again.
    if (releasingSince === null || this.#gates.has(sourceId)) return false;
    const gate = Promise.withResolvers<null>();
    this.#gates.set(sourceId, gate.promise);
    try {
      await this.#idle(sourceId);
      const sent = await this.#sendSome(connection);
      if (sent === null) return true;
      if (sent > 0 && ((await this.#sendSome(connection)) ?? 1) > 0) return false;
      await changes.run(id, async () => {
        const released = await store.endRelease(id, releasingSince);
        if (released !== null) directory.setConnection(released);
      });
      return true;
    } finally {
      this.#gates.delete(sourceId);
      gate.resolve(null);
    }
  }

  #idle(sourceId: string): Promise<void> {
    const turns = this.#turns.get(sourceId);
    if (turns === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      turns.idle = resolve;
    });
  }

  /**
   * Sends some of the oldest held messages and returns how many were sent. Returns null while another process releases
   * this connection.
   */
  async #sendSome(connection: Connection): Promise<number | null> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const claim = { key: `held ${connection.id}`, token: randomUUID() };
    const claimed = await store.answers.claim({
      key: claim.key,
      token: claim.token,
      fingerprint: "",
      now,
      expiresAt: now + claimMs,
    });
    if (claimed.kind !== "claimed") {
      this.#looking.soon(afterResumeMs);
      return null;
    }
    try {
      const messages = await store.held({ connectionId: connection.id, after: null, limit: stepSize });
      if (messages.length > 0) await this.#send(messages, connection);
      return messages.length;
    } finally {
      await store.answers.release(claim.key, claim.token);
    }
  }

  async #send(messages: readonly HeldMessage[], { tenantId, webhookId }: Connection): Promise<void> {
    const { store, history, access, clock } = this.#options;
    await access.gateway.known([webhookId]);
    const webhook = access.webhook(webhookId)?.webhook;
    if (webhook?.status !== "active") throw new PosthornError("conflict", "the webhook is not active");
    const events = await Promise.all(messages.map(({ eventId }) => history.getEvent(tenantId, eventId)));
    const now = clock.now();
    // Submitted in order without awaiting each one, so that one commit stores them in this order.
    const results = await Promise.allSettled(
      events.map(async (event): Promise<Pick<SettledMessage, "result" | "detail">> => {
        if (event === null || event.body === null)
          return { result: "failed", detail: "the payload was removed by retention" };
        const { id: eventId, eventType, priority } = event;
        const delivery = newReplay(access, {
          webhook,
          eventType,
          priority,
          origin: "replay",
          replayOf: null,
          operationId: null,
          now,
        });
        const result = await access.requeue({ eventId, deliveries: [delivery] });
        if (result.kind === "event_not_found" || result.kind === "payload_gone")
          return { result: "failed", detail: "the payload was removed by retention" };
        requireAccepted(result);
        return { result: "stored", detail: "sent after a pause" };
      }),
    );
    const settled = results.flatMap((result, at) => {
      const message = messages[at];
      return result.status === "rejected" || message === undefined ? [] : [settledAs(message, result.value)];
    });
    await store.settleHeld(settled);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }
}

function settledAs(
  { connectionId, requestId }: HeldMessage,
  { result, detail }: Pick<SettledMessage, "result" | "detail">,
): SettledMessage {
  return { connectionId, requestId, result, detail };
}
