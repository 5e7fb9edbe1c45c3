import type { DeliveryOrigin, Priority } from "../core/delivery.ts";
import { DuplicateEventError, PosthornError, UnavailableError } from "../core/errors.ts";
import { renderStandardPayload, standardContentType } from "../core/payload-formats/standard.ts";
import { StoreUnavailableError } from "../ports/store.ts";
import type {
  ClaimedDelivery,
  NewDelivery,
  NewEvent,
  PublishCommand,
  PublishResult,
} from "../ports/store/deliveries.ts";
import type { CommitGroup } from "./commit-group.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Endpoint } from "./endpoint.ts";
import type { SystemEvent } from "./engine-access.ts";
import { EventGate, fingerprint } from "./event-gate.ts";
import type { AcceptedInput, EventGateOptions } from "./event-gate.ts";
import type { Lane } from "./lane.ts";
import type { PublishEntry, PublishInput, PublishReceipt, Scope } from "./services.ts";
import type { Subscriptions } from "./subscriptions.ts";

export interface PublisherOptions extends EventGateOptions {
  readonly commits: CommitGroup;
  readonly dispatcher: () => Dispatcher;
  readonly subscriptions: Subscriptions;
  readonly nextId: () => string;
  readonly leaseMs: number;
}

/** A delivery about to be committed. `claim` is decided when the batch is composed. */
interface DraftDelivery extends NewDelivery {
  claim: boolean;
}

/** One publish on its way to the commit. */
export interface Draft {
  readonly command: PublishCommand;
  readonly deliveries: readonly DraftDelivery[];
  readonly lanes: readonly Lane[];
}

/**
 * Publishing: validate, deduplicate, find the webhooks, render the body once, and answer after the commit.
 *
 * The body is rendered before the commit and stored with the event: every attempt sends these bytes (design,
 * decision 6).
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #gate: EventGate;
  /** Keys of publishes whose commit is running: `tenant\nkey` (WDS-115; 409 while in progress). */
  readonly #running = new Set<string>();

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#gate = new EventGate(options);
  }

  async publish(scope: Scope, input: PublishInput): Promise<PublishReceipt> {
    const accepted = this.#gate.accept(scope, input);
    if (accepted instanceof PosthornError) throw accepted;
    const endpoints = this.#options.subscriptions.of(accepted.tenantId, { type: input.eventType });
    return this.#commit(this.#draft(accepted, { endpoints, origin: "publish" }));
  }

  async publishMany(scope: Scope, inputs: readonly PublishInput[]): Promise<PublishEntry[]> {
    return Promise.all(
      inputs.map(async (input): Promise<PublishEntry> => {
        try {
          return { kind: "published", receipt: await this.publish(scope, input) };
        } catch (error) {
          if (error instanceof PosthornError) return { kind: "refused", error };
          throw error;
        }
      }),
    );
  }

  /** The system's own events, to their subscribers or to one: not validated, not limited to what applications may name. */
  async publishSystem(
    event: SystemEvent,
    only: Endpoint | undefined,
  ): Promise<{ readonly eventId: string; readonly deliveryIds: readonly string[] }> {
    const now = this.#options.clock.now();
    const { tenantId, eventType, data } = event;
    const endpoints =
      only === undefined ? this.#options.subscriptions.of(tenantId, { type: eventType }) : [only];
    const draft = this.#draft(
      {
        tenantId,
        input: { eventType, data, source: "posthorn" },
        timestamp: now,
        now,
        payload: { kind: "data", dataJson: JSON.stringify(data) },
      },
      { endpoints, origin: only === undefined ? "publish" : "test" },
    );
    const receipt = await this.#commit(draft);
    return { eventId: receipt.id, deliveryIds: draft.deliveries.map((delivery) => delivery.id) };
  }

  // ---- render and find the webhooks ---------------------------------------------------------------------------

  #draft(
    accepted: AcceptedInput,
    target: { readonly endpoints: readonly Endpoint[]; readonly origin: DeliveryOrigin },
  ): Draft {
    const { tenantId, input, now } = accepted;
    const priority = input.priority ?? "normal";
    const deliveries: DraftDelivery[] = [];
    const lanes: Lane[] = [];
    for (const endpoint of target.endpoints) {
      const lane = endpoint.laneFor(input.eventType);
      lanes.push(lane);
      deliveries.push(this.#draftDelivery(lane, { priority, now, origin: target.origin }));
    }
    const command: PublishCommand = {
      event: {
        id: this.#options.nextId(),
        tenantId,
        eventType: input.eventType,
        timestamp: accepted.timestamp,
        source: input.source ?? null,
        idempotencyKey: input.idempotencyKey ?? null,
        fingerprint: input.idempotencyKey === undefined ? null : fingerprint(accepted),
        priority,
        createdAt: now,
        ...content(accepted),
      },
      deliveries,
      dedupUntil: input.idempotencyKey === undefined ? null : now + dedupMs,
    };
    return { command, deliveries, lanes };
  }

  #draftDelivery(
    lane: Lane,
    event: { readonly priority: Priority; readonly now: number; readonly origin: DeliveryOrigin },
  ): DraftDelivery {
    return {
      id: this.#options.nextId(),
      lane: lane.key,
      priority: event.priority,
      state: lane.endpoint.webhook.status === "active" ? "pending" : "skipped",
      dueAt: event.now,
      createdAt: event.now,
      origin: event.origin,
      format: lane.endpoint.policy.payloadFormat,
      claim: false,
      leaseUntil: event.now + this.#options.leaseMs,
    };
  }

  // ---- commit -------------------------------------------------------------------------------------------------

  #commit(draft: Draft): Promise<PublishReceipt> {
    const { event } = draft.command;
    const runningKey = event.idempotencyKey === null ? null : `${event.tenantId}\n${event.idempotencyKey}`;
    if (runningKey !== null) {
      if (this.#running.has(runningKey)) return Promise.reject(inProgress());
      this.#running.add(runningKey);
    }
    return new Promise((resolve, reject) => {
      this.#options.commits.publish({
        command: draft.command,
        prepare: () => this.#reserve(draft),
        done: (result) => {
          if (runningKey !== null) this.#running.delete(runningKey);
          this.#committed(draft, result);
          if (result instanceof Error) reject(publishError(result));
          else answer(draft, result, { resolve, reject });
        },
      });
    });
  }

  /** Right before the batch is written: lease what may be sent at once. */
  #reserve(draft: Draft): void {
    const bytes = draft.command.event.body.length;
    const { reservations } = this.#options.dispatcher();
    for (let index = 0; index < draft.lanes.length; index += 1) {
      const delivery = draft.deliveries[index] as DraftDelivery;
      const lane = draft.lanes[index] as Lane;
      if (delivery.state !== "pending") continue;
      delivery.claim = reservations.reserve(lane, { tier: lane.tier(delivery.priority), bytes });
    }
  }

  #committed(draft: Draft, result: PublishResult | Error): void {
    const dispatcher = this.#options.dispatcher();
    const accepted = !(result instanceof Error) && result.kind === "accepted" ? result : null;
    this.#options.telemetry.metrics.eventPublished({ duplicate: accepted === null });
    for (let index = 0; index < draft.lanes.length; index += 1) {
      const delivery = draft.deliveries[index] as DraftDelivery;
      const lane = draft.lanes[index] as Lane;
      const lease = accepted?.leases[index] ?? noLease;
      // Fence 0: another process was faster, and its delivery goes first.
      const isLeased = delivery.claim && lease.fence > 0;
      if (delivery.claim && !isLeased) dispatcher.reservations.cancel(lane);
      if (accepted === null) continue;
      if (isLeased) {
        dispatcher.reservations.accept(
          lane,
          claimed(draft, {
            delivery,
            lease,
            sequenceNumber: accepted.sequenceNumber,
          }),
        );
      } else if (delivery.state === "pending") {
        dispatcher.stored(lane, { tier: lane.tier(delivery.priority), dueAt: delivery.dueAt });
      }
    }
  }
}

/** What is stored of the event: the standard object, or the publisher's bytes. */
function content({
  input,
  timestamp,
  payload,
}: AcceptedInput): Pick<NewEvent, "contentType" | "raw" | "body"> {
  if (payload.kind === "raw") return { contentType: payload.contentType, raw: true, body: payload.body };
  const { eventType, metadata = null, links = null } = input;
  const body = renderStandardPayload({ eventType, timestamp, dataJson: payload.dataJson, metadata, links });
  return { contentType: standardContentType, raw: false, body };
}

function claimed(
  draft: Draft,
  leased: {
    readonly delivery: DraftDelivery;
    readonly lease: { readonly ref: number; readonly fence: number };
    readonly sequenceNumber: number;
  },
): ClaimedDelivery {
  const { event } = draft.command;
  const { delivery, lease, sequenceNumber } = leased;
  return {
    lease,
    id: delivery.id,
    webhookId: delivery.lane.webhookId,
    tenantId: event.tenantId,
    eventId: event.id,
    eventType: event.eventType,
    priority: delivery.priority,
    progress: {
      state: "pending" as const,
      attemptCount: 0,
      createdAt: delivery.createdAt,
      firstAttemptAt: null,
      dueAt: delivery.dueAt,
      reason: null,
    },
    format: delivery.format,
    timestamp: event.timestamp,
    source: event.source,
    idempotencyKey: event.idempotencyKey,
    eventPriority: event.priority,
    sequenceNumber,
    contentType: event.contentType,
    raw: event.raw,
    body: event.body,
  };
}

function answer(
  draft: Draft,
  result: PublishResult,
  promise: { readonly resolve: (receipt: PublishReceipt) => void; readonly reject: (error: Error) => void },
): void {
  const { event } = draft.command;
  if (result.kind === "key_conflict") {
    const detail = `the idempotency key was used for event ${result.eventId} with another payload`;
    promise.reject(new DuplicateEventError(result.eventId, { code: "event_key_reused", detail }));
    return;
  }
  const original = result.kind === "duplicate" ? result.original : null;
  promise.resolve({
    id: original?.id ?? event.id,
    eventType: original?.eventType ?? event.eventType,
    tenantId: event.tenantId,
    timestamp: original?.timestamp ?? event.timestamp,
    idempotencyKey: event.idempotencyKey ?? event.id,
    sequenceNumber: original?.sequenceNumber ?? (result.kind === "accepted" ? result.sequenceNumber : 0),
    deliveries: original?.deliveries ?? draft.deliveries.length,
    duplicate: original !== null,
  });
}

function publishError(error: Error): Error {
  if (!(error instanceof StoreUnavailableError)) return error;
  return new UnavailableError("the store cannot write now; nothing was published, try again", error);
}

function inProgress(): PosthornError {
  return new PosthornError(
    "event_in_progress",
    "an event with this idempotency key is being published; try again",
    {
      retryAfterSeconds: 1,
    },
  );
}

const noLease = { ref: 0, fence: 0 } as const;

/** WDS-115: a publisher's key is remembered this long. */
const dedupMs = 86_400_000;
