import type { AttemptRecord } from "../../core/delivery.ts";
import type { Verdict } from "../../core/outcome.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ClaimedDelivery, NewDelivery, PublishCommand } from "../../ports/store/deliveries.ts";
import { responseSampleBytesMax, type TransportResult } from "../../ports/transport.ts";
import { statusOf } from "../attempt/attempt-record.ts";
import { maskSecrets } from "../credentials/secret-mask.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { ComposedDelivery } from "../message/compose.ts";
import type { CommitGroup } from "../commit/commit-group.ts";
import { claimed } from "../publish/draft.ts";

export interface ForwardRecordOptions {
  readonly clock: Pick<Clock, "now">;
  readonly commits: Pick<CommitGroup, "publish" | "settle">;
  readonly nextId: () => string;
  readonly leaseMs: number;
}

/** One request that was made while a sender waited. Those of one message have one event. */
export interface ForwardedAttempt {
  readonly delivery: ComposedDelivery;
  readonly verdict: Verdict;
  readonly result: TransportResult;
  /** Unix milliseconds. */
  readonly startedAt: number;
}

/**
 * Writes down what was passed on, when all is over: the event, and a delivery with its attempt for each request. An ordered
 * lane has one delivery at a time: there the event alone is written.
 */
export class ForwardRecord {
  readonly #options: ForwardRecordOptions;

  constructor(options: ForwardRecordOptions) {
    this.#options = options;
  }

  write(endpoint: Endpoint, attempts: readonly ForwardedAttempt[]): void {
    const [first] = attempts;
    if (first === undefined) return;
    const lane = endpoint.laneFor(first.delivery.eventType);
    const { commits, leaseMs } = this.#options;
    const deliveries = lane.ordered
      ? []
      : attempts.map(
          ({ delivery, startedAt }): NewDelivery => ({
            ...{
              id: delivery.id,
              lane: lane.key,
              priority: "normal",
              dueAt: startedAt,
              createdAt: startedAt,
            },
            ...{ origin: "publish", format: delivery.format, leaseUntil: startedAt + leaseMs },
            ...{ state: "pending", reason: null, claim: true },
          }),
        );
    const command = commandOf(first.delivery, { deliveries, startedAt: first.startedAt });
    commits.publish({
      size: { rows: 1 + deliveries.length, bytes: command.event.body.length },
      compose: () => command,
      done: (result) => {
        if (result instanceof Error || result.kind !== "accepted") return;
        const { sequenceNumber } = result;
        for (const [index, stored] of deliveries.entries()) {
          const lease = result.leases[index];
          const attempt = attempts[index];
          if (lease === undefined || lease.leaseToken === 0 || attempt === undefined) continue;
          const leased = claimed(
            { command, deliveries, lanes: [lane] },
            { delivery: stored, lease, webhookTenantId: attempt.delivery.tenantId, sequenceNumber },
          );
          this.#settle(endpoint, leased, attempt);
        }
      },
    });
  }

  #settle(endpoint: Endpoint, leased: ClaimedDelivery, attempt: ForwardedAttempt): void {
    const { verdict, startedAt } = attempt;
    const { clock, commits, nextId } = this.#options;
    const isAccepted = verdict.outcome === "accepted";
    commits.settle({
      settlement: {
        lease: leased.lease,
        progress: {
          ...leased.progress,
          attemptCount: 1,
          firstAttemptAt: startedAt,
          state: isAccepted ? "success" : "cancelled",
          reason: isAccepted ? null : `passed_through_${verdict.reason}`,
        },
        attempt: recordOf(endpoint, { ...attempt, id: nextId() }),
        settledAt: clock.now(),
      },
      delivery: leased,
      isAwaited: false,
      done: () => undefined,
    });
  }
}

function commandOf(
  delivery: ComposedDelivery,
  { deliveries, startedAt }: { readonly deliveries: readonly NewDelivery[]; readonly startedAt: number },
): PublishCommand {
  const { eventId, tenantId, eventType, timestamp, source, contentType, relayed } = delivery;
  return {
    event: {
      ...{ id: eventId, tenantId, eventType, timestamp, source, contentType, relayed, raw: true },
      ...{ body: delivery.body ?? new Uint8Array(), idempotencyKey: null, fingerprint: null },
      ...{ priority: "normal", createdAt: startedAt, trace: null },
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
  const text = sample === null || sample.length === 0 ? null : new TextDecoder().decode(sample);
  const secrets = config.shownSecrets;
  return {
    ...{ id, number: 1, outcome: verdict.outcome, receiverStateUnknown: verdict.receiverStateUnknown },
    ...{ category: verdict.category ?? null, statusCode: statusOf(result) },
    responseSample: text === null ? null : maskSecrets(text, { secrets, wasCut: true }),
    errorMessage: result.errorMessage,
    durationMs: Math.round(result.durationMs),
    ...{ scheduledAt: startedAt, executedAt: startedAt, nextRetryAt: null, notes: null },
  };
}
