import type { Priority } from "../../../src/domain/delivery.ts";
import type { LaneKey } from "../../../src/domain/webhook.ts";
import type { WorkConsumer, WorkHint, WorkQueue } from "../../../src/ports/work-queue.ts";
import { eventually } from "../../scenarios/eventually.fixture.ts";

export function lane(webhookId: string): LaneKey {
  return { webhookId, ordering: "none", eventType: null };
}

export function hint(webhookId: string, more: Partial<WorkHint> = {}): WorkHint {
  return { lane: lane(webhookId), pool: "default", priority: "normal", ...more };
}

/** Creates hints for webhooks `name-0`, `name-1`, … */
export function hints(name: string, { count, ...more }: Several): WorkHint[] {
  return Array.from({ length: count }, (_, index) => hint(`${name}-${index}`, more));
}

interface Several {
  readonly count: number;
  readonly priority?: Priority;
  readonly pool?: string;
}

export type Handler = WorkConsumer["handle"];

/** A handler that does not complete until the test releases it. */
export interface HeldHandler {
  readonly handle: Handler;
  /** Completes all current hints, and later ones immediately. */
  release(): void;
}

export function heldHandler(): HeldHandler {
  const { promise, resolve } = Promise.withResolvers<"done">();
  return { handle: () => promise, release: () => resolve("done") };
}

/** A consumer that records its hints. */
export class Worker {
  readonly queue: WorkQueue;
  readonly begun: WorkHint[] = [];
  readonly done: WorkHint[] = [];
  readonly notified: LaneKey[] = [];
  missed = 0;

  constructor(queue: WorkQueue, options: { readonly pool?: string; readonly handle?: Handler } = {}) {
    const { pool = "default", handle = () => Promise.resolve("done" as const) } = options;
    this.queue = queue;
    queue.consume({
      pool,
      handle: async (given) => {
        this.begun.push(given);
        const answer = await handle(given);
        if (answer === "done") this.done.push(given);
        return answer;
      },
      notified: (lanes) => void this.notified.push(...lanes),
      missed: () => void (this.missed += 1),
    });
  }

  get begunIds(): string[] {
    return idsOf(this.begun);
  }

  get doneIds(): string[] {
    return idsOf(this.done);
  }

  get notifiedIds(): string[] {
    return this.notified.map(({ webhookId }) => webhookId);
  }
}

export function idsOf(list: readonly WorkHint[]): string[] {
  return list.map((each) => each.lane.webhookId);
}

/** Resolves when the condition holds. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  await eventually(what, { ask: () => Promise.resolve(holds()), holds: (answer) => answer });
}

/** Sends repeatedly until the hints are accepted. A queue that was briefly unavailable may refuse them at first. */
export async function sent(queue: WorkQueue, list: readonly WorkHint[]): Promise<void> {
  await until("sending is accepted", () => queue.send(list));
}

/**
 * Sends repeatedly until all hints are handled, as the reannouncer does. Hints sent to a queue that was just deleted
 * may be lost with it.
 */
export async function sentUntilHandled(
  queue: WorkQueue,
  { list, worker }: { readonly list: readonly WorkHint[]; readonly worker: Worker },
): Promise<void> {
  await until("all is handled", () => {
    const missing = list.filter(({ lane: { webhookId } }) => !worker.doneIds.includes(webhookId));
    if (missing.length > 0) queue.send(missing);
    return missing.length === 0;
  });
}

/**
 * Sends the notification repeatedly until the worker receives it, because a worker that starts to listen is not
 * registered immediately.
 */
export async function notifiedUntilHeard(
  from: WorkQueue,
  { to, worker, webhookId }: { readonly to: Worker; readonly worker: number; readonly webhookId: string },
): Promise<void> {
  await until(`worker ${worker} hears ${webhookId}`, () => {
    from.notify(worker, [lane(webhookId)]);
    return to.notifiedIds.includes(webhookId);
  });
}
