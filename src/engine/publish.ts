import type { DeliveryOrigin, Priority } from "../core/delivery.ts";
import { PosthornError } from "../core/errors.ts";
import type { PublishKey } from "../ports/shared-state.ts";
import { renderStandardPayload, standardContentType } from "../core/payload-formats/standard.ts";
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
import {
  answer,
  dedupMs,
  inProgress,
  keyReused,
  publishError,
  rememberedEntry,
  repeatReceipt,
} from "./publish-answers.ts";
import type { PublishEntry, PublishInput, PublishReceipt, Scope } from "./services.ts";
import type { KnownPublishes } from "./shared/known-publishes.ts";
import type { Subscriptions } from "./subscriptions.ts";

export interface PublisherOptions extends EventGateOptions {
  readonly commits: CommitGroup;
  readonly dispatcher: () => Dispatcher;
  readonly subscriptions: Subscriptions;
  readonly nextId: () => string;
  readonly leaseMs: number;
  /** What was published by key a while ago; null where only the store knows. */
  readonly knownPublishes: KnownPublishes | null;
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
    const { knownPublishes } = this.#options;
    if (knownPublishes !== null && input.idempotencyKey !== undefined)
      return this.#publishKeyed(accepted, { knownPublishes, idempotencyKey: input.idempotencyKey });
    return this.#store(accepted);
  }

  /** Asks the memory of all processes first. Only a repeat is answered from it. */
  async #publishKeyed(
    accepted: AcceptedInput,
    by: { readonly knownPublishes: KnownPublishes; readonly idempotencyKey: string },
  ): Promise<PublishReceipt> {
    const key = { tenantId: accepted.tenantId, idempotencyKey: by.idempotencyKey };
    const runningKey = nameOf(key);
    if (this.#running.has(runningKey)) throw inProgress();
    this.#running.add(runningKey);
    const known = await by.knownPublishes.recall(key);
    this.#running.delete(runningKey);
    if (known === null) return this.#store(accepted);
    this.#options.telemetry.metrics.eventPublished({ duplicate: true });
    if (known.fingerprint !== fingerprint(accepted)) throw keyReused(known.id);
    return repeatReceipt(known, key);
  }

  #store(accepted: AcceptedInput): Promise<PublishReceipt> {
    const endpoints = this.#options.subscriptions.of(accepted.tenantId, { type: accepted.input.eventType });
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
    const { tenantId, idempotencyKey } = draft.command.event;
    const runningKey = idempotencyKey === null ? null : nameOf({ tenantId, idempotencyKey });
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
          this.#remember(draft, result);
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

  #remember(draft: Draft, result: PublishResult | Error): void {
    const { knownPublishes } = this.#options;
    if (knownPublishes === null || result instanceof Error) return;
    const entry = rememberedEntry(draft, result);
    if (entry !== null) knownPublishes.remember(entry);
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

function nameOf({ tenantId, idempotencyKey }: PublishKey): string {
  return `${tenantId}\n${idempotencyKey}`;
}

const noLease = { ref: 0, fence: 0 } as const;
