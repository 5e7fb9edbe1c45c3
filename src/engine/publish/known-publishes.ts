import { withDeadline } from "../../ports/clock.ts";
import {
  type PublishEntry,
  type PublishKey,
  type RememberedPublish,
  type SharedState,
  SharedStateUnavailableError,
} from "../../ports/shared-state.ts";
import type { EngineContext } from "../engine-options.ts";

interface Question {
  readonly key: PublishKey;
  readonly answer: (publish: RememberedPublish | null) => void;
}

/**
 * Recent publishes of all processes, by key, so that a repeat costs no store query (WDS-174). The store remains
 * authoritative for keys that are not found here. All queries of one turn of the event loop share one call.
 */
export class KnownPublishes {
  readonly #context: Pick<EngineContext, "clock" | "telemetry">;
  readonly #state: Pick<SharedState, "publishes" | "isAvailable">;
  #asked: Question[] = [];
  #committed: PublishEntry[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #waiting = new Set<readonly Question[]>();
  #isPaused = false;

  constructor(
    context: Pick<EngineContext, "clock" | "telemetry">,
    state: Pick<SharedState, "publishes" | "isAvailable">,
  ) {
    this.#context = context;
    this.#state = state;
  }

  /** Looks up the publish with this key. Null if it is not known here, or not found in time. Never rejects. */
  recall(key: PublishKey): Promise<RememberedPublish | null> {
    if (this.#isPaused || !this.#state.isAvailable) return Promise.resolve(null);
    return new Promise((answer) => {
      this.#asked.push({ key, answer });
      if (this.#asked.length === 1) this.#context.clock.defer(() => void this.#ask());
    });
  }

  /** Stores a publish in the shared memory. Call once it is committed. An entry that cannot be sent is dropped. */
  remember(entry: PublishEntry): void {
    if (!this.#state.isAvailable) return;
    this.#committed.push(entry);
    if (this.#committed.length === 1) this.#context.clock.defer(() => this.#remember());
  }

  /** Makes waiting callers use the store instead. */
  pause(): void {
    this.#isPaused = true;
    for (const asked of [this.#asked, ...this.#waiting]) for (const { answer } of asked) answer(null);
  }

  async stop(): Promise<void> {
    this.pause();
    this.#remember();
    await Promise.all(this.#running);
  }

  async #ask(): Promise<void> {
    const asked = this.#asked;
    this.#asked = [];
    this.#waiting.add(asked);
    const { clock } = this.#context;
    let found: readonly (RememberedPublish | null)[] | null = null;
    try {
      const work = this.#state.publishes.recall(asked.map(({ key }) => key));
      found = await withDeadline(work, { clock, timeoutMs: recallMsMax });
    } catch (error) {
      this.#failed(error);
    }
    this.#waiting.delete(asked);
    for (const [index, { answer }] of asked.entries()) answer(found?.[index] ?? null);
  }

  #remember(): void {
    const entries = this.#committed;
    this.#committed = [];
    if (entries.length === 0) return;
    const work = this.#state.publishes
      .remember(entries)
      .catch((error: unknown) => this.#failed(error))
      .finally(() => this.#running.delete(work));
    this.#running.add(work);
  }

  #failed(error: unknown): void {
    if (error instanceof SharedStateUnavailableError) return;
    this.#context.telemetry.log.warn(
      { err: String(error) },
      "sharing publishes by key with other processes failed",
    );
  }
}

/** Maximum time that a publisher waits for this lookup. It is short because the store has the same information. */
const recallMsMax = 50;
