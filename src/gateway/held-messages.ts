import { randomUUID } from "node:crypto";
import { PosthornError } from "../core/errors.ts";
import type { Connection } from "../core/gateway/source.ts";
import type { EngineAccess } from "../engine/engine-access.ts";
import type { Clock } from "../ports/clock.ts";
import type { ForwardNote, GatewayStore, HeldMessage } from "../ports/store/gateway.ts";
import type { HistoryStore } from "../ports/store/history.ts";
import type { Logger } from "../ports/telemetry.ts";
import { Loop } from "../ports/timing/loop.ts";
import { requeueFor } from "./requeue.ts";

export interface HeldMessagesOptions {
  readonly store: Pick<
    GatewayStore,
    "held" | "connectionsWithHeld" | "dropHeld" | "connections" | "request" | "updateRequest" | "answers"
  >;
  readonly history: Pick<HistoryStore, "getEvent">;
  readonly access: Pick<EngineAccess, "gateway" | "nextId" | "placeOf" | "requeue" | "webhook">;
  readonly clock: Clock;
  readonly log: Logger;
}

const pageSize = 250;
const lookEveryMs = 60_000;
/** Other processes may hold a message for so long after a connection was resumed: they had not heard of it. */
const afterResumeMs = 2_000;
/** One process sends a message on; another one may, when the first was lost on the way. */
const claimMs = 30_000;

/** What came while its connection was paused: stored with the message, so that a crash loses nothing of it. */
export class HeldMessages {
  readonly #options: HeldMessagesOptions;
  readonly #looking: Loop;

  constructor(options: HeldMessagesOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#looking = new Loop({
      clock,
      round: () => this.#look(),
      pauseMs: () => lookEveryMs,
      failed: (error) => log.warn({ err: String(error) }, "held messages could not be sent on"),
    });
  }

  start(): void {
    this.#looking.start();
    this.#looking.soon(0);
  }

  stop(): Promise<void> {
    return this.#looking.stop();
  }

  /** Sends on what the connection held, oldest first. Throws when its webhook takes nothing. */
  async release(connection: Connection): Promise<void> {
    for await (const message of this.#heldFor(connection.id)) await this.#send(message, connection);
    this.#looking.soon(afterResumeMs);
  }

  /** What a crash or another process left behind: held for a connection that is open, or that is no more. */
  async #look(): Promise<void> {
    const { store, log } = this.#options;
    const waiting = await store.connectionsWithHeld();
    if (waiting.length === 0) return;
    const connections = new Map((await store.connections()).map((one) => [one.id, one]));
    for (const id of waiting) {
      const connection = connections.get(id);
      if (connection?.pausedAt !== undefined && connection.pausedAt !== null) continue;
      for await (const message of this.#heldFor(id)) {
        if (this.#looking.isStopped) return;
        if (connection === undefined) {
          await this.#settle(message, { result: "failed", detail: "the connection was deleted" });
          continue;
        }
        try {
          await this.#send(message, connection);
        } catch (error) {
          if (!(error instanceof PosthornError)) throw error;
          log.warn({ err: error.message, connectionId: id }, "held messages wait for their webhook");
          break;
        }
      }
    }
  }

  async *#heldFor(connectionId: string): AsyncGenerator<HeldMessage> {
    for (let after: string | null = null; ; ) {
      const page: readonly HeldMessage[] = await this.#options.store.held({
        ...{ connectionId, after, limit: pageSize },
      });
      yield* page;
      after = page.at(-1)?.requestId ?? null;
      if (page.length < pageSize) return;
    }
  }

  async #send(message: HeldMessage, connection: Connection): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const claim = { key: `held ${message.connectionId} ${message.requestId}`, token: randomUUID() };
    const claimed = await store.answers.claim({ ...claim, fingerprint: "", now, expiresAt: now + claimMs });
    if (claimed.kind !== "claimed") return;
    try {
      await this.#sendClaimed(message, connection);
    } finally {
      await store.answers.release(claim);
    }
  }

  async #sendClaimed(message: HeldMessage, connection: Connection): Promise<void> {
    const { history, access, clock } = this.#options;
    const event = await history.getEvent({ tenantId: connection.tenantId, id: message.eventId });
    if (event === null || event.body === null) {
      await this.#settle(message, { result: "failed", detail: "the payload was removed by retention" });
      return;
    }
    const [sent] = await requeueFor(event, { connections: [connection], access, now: clock.now() });
    if (sent !== undefined) await this.#settle(message, sent);
  }

  /** In the log too, where it is still there. */
  async #settle(
    message: HeldMessage,
    { result, detail }: Pick<ForwardNote, "result" | "detail">,
  ): Promise<void> {
    const { store } = this.#options;
    const request = await store.request(message.requestId);
    if (request === null) return store.dropHeld(message);
    const isMine = (one: ForwardNote): boolean =>
      one.connectionId === message.connectionId && one.result === "held";
    const forwards = request.forwards.map((one) => (isMine(one) ? { ...one, result, detail } : one));
    await store.updateRequest({ ...request, forwards });
  }
}
