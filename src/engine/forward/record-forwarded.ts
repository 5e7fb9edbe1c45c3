import type { AttemptRecord } from "../../core/delivery.ts";
import type { Verdict } from "../../core/outcome.ts";
import type { Clock } from "../../ports/clock.ts";
import type { AttemptedDelivery, NewDelivery, PublishCommand } from "../../ports/store/deliveries.ts";
import type { AnswerCompletion } from "../../ports/store/gateway.ts";
import { bodyText } from "../../core/http/body-text.ts";
import { responseSampleBytesMax, type TransportResult } from "../../ports/transport.ts";
import { statusOf } from "../attempt/attempt-record.ts";
import { maskSecrets } from "../credentials/secret-mask.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Lane } from "../endpoint/lane.ts";
import type { ComposedDelivery } from "../message/compose.ts";
import type { CommitGroup } from "../commit/commit-group.ts";

export interface ForwardRecordOptions {
  readonly clock: Pick<Clock, "now">;
  readonly commits: Pick<CommitGroup, "publish">;
  readonly nextId: () => string;
  readonly leaseMs: number;
}

/** The answer for repeats of a message; null if none is kept. */
export type KeptAnswer = AnswerCompletion | null;

/** One request that was made while a sender waited. All requests of one message share one event. */
export interface ForwardedAttempt {
  readonly delivery: ComposedDelivery;
  readonly verdict: Verdict;
  readonly result: TransportResult;
  /** Unix milliseconds. */
  readonly startedAt: number;
}

/**
 * Records forwarded messages after they are complete: the event, and a delivery with its attempt for each request,
 * with the answer for repeats. One transaction stores and settles them. Otherwise, a row that is pending between two
 * transactions would be leased by a process that may not own the webhook, and an owner that acquires the webhook at
 * that moment would send the message again, although its sender got an error. An ordered lane has one delivery at a
 * time, so only the event is recorded there.
 */
export class ForwardRecord {
  readonly #options: ForwardRecordOptions;

  constructor(options: ForwardRecordOptions) {
    this.#options = options;
  }

  /** Resolves once it is committed; rejects if that fails. */
  write(endpoint: Endpoint, attempts: readonly ForwardedAttempt[], answer: KeptAnswer): Promise<void> {
    const [first] = attempts;
    if (first === undefined) return Promise.resolve();
    const lane = endpoint.laneFor(first.delivery.eventType);
    const deliveries = lane.ordered ? [] : attempts.map((attempt) => this.#newDelivery(attempt, lane));
    const command: PublishCommand = {
      ...commandOf(first.delivery, deliveries, first.startedAt),
      ...(!lane.ordered && { attempted: attempts.map((attempt) => this.#settled(endpoint, attempt)) }),
      ...(answer !== null && { answer }),
    };
    return new Promise((resolve, reject) => {
      this.#options.commits.publish({
        size: { rows: 1 + deliveries.length, bytes: command.event.body.length },
        compose: () => command,
        done: (result) => (result instanceof Error ? reject(result) : resolve()),
      });
    });
  }

  #newDelivery({ delivery, startedAt }: ForwardedAttempt, lane: Lane): NewDelivery {
    return {
      id: delivery.id,
      lane: lane.key,
      priority: "normal",
      dueAt: startedAt,
      createdAt: startedAt,
      origin: "publish",
      format: delivery.format,
      leaseUntil: startedAt + this.#options.leaseMs,
      state: "pending",
      reason: null,
      claim: true,
    };
  }

  #settled(endpoint: Endpoint, attempt: ForwardedAttempt): AttemptedDelivery {
    const { verdict, startedAt } = attempt;
    const isAccepted = verdict.outcome === "accepted";
    return {
      progress: {
        attemptCount: 1,
        createdAt: startedAt,
        firstAttemptAt: startedAt,
        dueAt: startedAt,
        state: isAccepted ? "success" : "cancelled",
        reason: isAccepted ? null : `passed_through_${verdict.reason}`,
        retried: null,
      },
      attempt: recordOf(endpoint, { ...attempt, id: this.#options.nextId() }),
      settledAt: this.#options.clock.now(),
    };
  }
}

function commandOf(
  delivery: ComposedDelivery,
  deliveries: readonly NewDelivery[],
  startedAt: number,
): PublishCommand {
  const { eventId, tenantId, eventType, timestamp, source, contentType, relayed } = delivery;
  return {
    event: {
      id: eventId,
      tenantId,
      eventType,
      timestamp,
      source,
      contentType,
      relayed,
      raw: true,
      body: delivery.body ?? new Uint8Array(),
      idempotencyKey: null,
      fingerprint: null,
      priority: "normal",
      createdAt: startedAt,
      trace: null,
    },
    deliveries,
    dedupUntil: null,
  };
}

function recordOf(
  { config }: Endpoint,
  made: {
    readonly id: string;
    readonly verdict: Verdict;
    readonly result: TransportResult;
    readonly startedAt: number;
  },
): AttemptRecord {
  const { id, verdict, result, startedAt } = made;
  const sample = result.responseSample?.subarray(0, responseSampleBytesMax) ?? null;
  const text =
    sample === null || sample.length === 0 ? null : bodyText(sample, result.fields["content-type"]);
  const secrets = config.shownSecrets;
  return {
    id,
    number: 1,
    outcome: verdict.outcome,
    receiverStateUnknown: verdict.receiverStateUnknown,
    category: verdict.category ?? null,
    statusCode: statusOf(result),
    responseSample: text === null ? null : maskSecrets(text, { secrets, wasCut: true }),
    errorMessage: result.errorMessage,
    durationMs: Math.round(result.durationMs),
    scheduledAt: startedAt,
    executedAt: startedAt,
    nextRetryAt: null,
    notes: null,
  };
}
