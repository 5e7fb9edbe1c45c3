import type { DeliveryOrigin, Priority } from "../../domain/delivery.ts";
import { PosthornError, UnavailableError } from "../../domain/errors.ts";
import type { Scope } from "../../domain/scope.ts";
import { errorOf } from "../../domain/thrown.ts";
import type { PublishKey } from "../../ports/shared-state.ts";
import {
  fanOutRows,
  type Lease,
  type NewDelivery,
  type PublishCommand,
  type PublishResult,
} from "../../ports/store/deliveries.ts";
import { RequestPace } from "../../ports/clock.ts";
import type { EventSpans } from "../attempt/event-spans.ts";
import type { CommitGroup } from "../commit/commit-group.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Subscriptions } from "../endpoint/directory.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Lane } from "../endpoint/lane.ts";
import {
  answer,
  claimed,
  content,
  dedupMs,
  deliveryCount,
  type Draft,
  inProgress,
  keyReused,
  publishError,
  rememberedEntry,
  repeatReceipt,
} from "./draft.ts";
import {
  type AcceptedInput,
  type AcceptedPayload,
  EventGate,
  type EventGateOptions,
  fingerprint,
} from "./event-gate.ts";
import type { FanOuts } from "./fan-outs.ts";
import type { KnownPublishes } from "./known-publishes.ts";
import type {
  PublishEntry,
  PublishInput,
  PublishReceipt,
  RelayedEvent,
  SystemEvent,
} from "./publish-call.ts";

export interface PublisherOptions extends EventGateOptions {
  readonly commits: CommitGroup;
  readonly dispatcher: Dispatcher;
  readonly subscriptions: Subscriptions;
  readonly nextId: () => string;
  readonly leaseMs: number;
  /** See `EngineLimits`. */
  readonly eventRowsMax: number | undefined;
  /** Recent publishes by key; null if they are only in the store. */
  readonly knownPublishes: KnownPublishes | null;
  readonly fanOuts: Pick<FanOuts, "kick">;
  /** Null if traces are not collected. */
  readonly spans: EventSpans | null;
}

/**
 * The receivers of an event. `endpoints` is called when the transaction is composed, because a webhook may be deleted
 * while the event waits.
 */
interface Target {
  readonly endpoints: () => readonly Endpoint[];
  readonly origin: DeliveryOrigin;
  /** Minimum delays of deliveries, by webhook ID. */
  readonly delaysMs?: ReadonlyMap<string, number>;
}

/**
 * Publishing: validates, deduplicates, finds the webhooks, renders the body once, and responds after the commit.
 *
 * Only the accepted input waits for the transaction. Deliveries are drafted when the transaction is composed, so the
 * drafts of a large batch never all exist at the same time.
 *
 * The body is rendered before the commit and stored with the event, so every attempt sends the same bytes.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #gate: EventGate;
  readonly #eventRowsMax: number;
  /**
   * Keys of publishes whose commit is running, as `tenant\nkey`. A second publish gets a 409 in the meantime (WDS-115).
   */
  readonly #running = new Set<string>();
  #isStopped = false;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#gate = new EventGate(options);
    this.#eventRowsMax = options.eventRowsMax ?? fanOutRows;
  }

  /** Rejects publishes of applications from now on. System events are still accepted. */
  stop(): void {
    this.#isStopped = true;
  }

  async publish(scope: Scope, input: PublishInput): Promise<PublishReceipt> {
    this.#refuseWhenStopped();
    const reading = this.#gate.prepare(scope, input);
    if (reading !== null) await this.#prepare(scope, input, reading);
    return this.#accept(this.#gate.accept(scope, input));
  }

  #refuseWhenStopped(): void {
    if (this.#isStopped) throw new UnavailableError("the server is shutting down");
  }

  /** Loads and compiles the schema of the type. Repeats this if the type was changed in between. */
  async #prepare(scope: Scope, input: PublishInput, first: Promise<void>): Promise<void> {
    try {
      for (let reading: Promise<void> | null = first; reading !== null; ) {
        await reading;
        reading = this.#gate.prepare(scope, input);
      }
    } catch (error) {
      throw publishError(errorOf(error));
    }
  }

  async #accept(accepted: AcceptedInput | PosthornError): Promise<PublishReceipt> {
    if (accepted instanceof PosthornError) throw accepted;
    const { knownPublishes } = this.#options;
    const { idempotencyKey } = accepted.input;
    if (knownPublishes !== null && idempotencyKey !== undefined)
      return this.#publishKeyed(accepted, knownPublishes, idempotencyKey);
    return this.#store(accepted);
  }

  /**
   * Looks up the key in the shared memory first. Only repeats are answered from there; other publishes go to the store.
   */
  async #publishKeyed(
    accepted: AcceptedInput,
    knownPublishes: KnownPublishes,
    idempotencyKey: string,
  ): Promise<PublishReceipt> {
    const key = { tenantId: accepted.tenantId, idempotencyKey };
    const runningKey = nameOf(key);
    if (this.#running.has(runningKey)) throw inProgress();
    this.#running.add(runningKey);
    const known = await knownPublishes.recall(key);
    this.#running.delete(runningKey);
    if (known === null) return this.#store(accepted);
    this.#options.telemetry.metrics.eventPublished(true);
    if (known.fingerprint !== fingerprint(accepted)) throw keyReused(known.id);
    return repeatReceipt(known, key);
  }

  #store(accepted: AcceptedInput): Promise<PublishReceipt> {
    const { tenantId, input } = accepted;
    const endpoints = () => this.#options.subscriptions.of(tenantId, input.eventType);
    return this.#commit(accepted, { endpoints, origin: "publish" });
  }

  /**
   * Publishes events in small batches, so that other requests are served in between and few events wait for the store.
   * All events of the request share one budget for schema validation.
   */
  async publishMany(scope: Scope, inputs: readonly PublishInput[]): Promise<PublishEntry[]> {
    this.#refuseWhenStopped();
    const pace = new RequestPace(this.#options.clock);
    const budget = { unitsLeft: requestValidationUnitsMax };
    const entries: Promise<PublishEntry>[] = [];
    for (const input of inputs) {
      const reading = this.#gate.prepare(scope, input);
      if (reading !== null) await this.#prepare(scope, input, reading);
      const accepted = this.#gate.accept(scope, input, budget);
      const entry = entryOf(this.#accept(accepted));
      entries.push(entry);
      if (accepted instanceof PosthornError) await pace.worked();
      else await pace.submitted(entry, this.#rowsOf(accepted));
    }
    return Promise.all(entries);
  }

  #rowsOf({ tenantId, input }: AcceptedInput): number {
    const { length } = this.#options.subscriptions.of(tenantId, input.eventType);
    return 1 + Math.min(length, this.#eventRowsMax);
  }

  /**
   * Publishes system events to their subscribers or to one webhook. They are not validated, and their types are
   * reserved.
   */
  async publishSystem(
    event: SystemEvent,
    only: Endpoint | undefined,
  ): Promise<{ readonly eventId: string; readonly deliveryIds: readonly string[] }> {
    const { tenantId, eventType: type } = event;
    const { origin = "test" } = event;
    if (only !== undefined) return this.publishTo({ endpoints: () => [only], origin }, event);
    const endpoints = () => this.#options.subscriptions.of(tenantId, type);
    return this.publishTo({ endpoints, origin: "publish" }, event);
  }

  /** Publishes a system event to the given endpoints. */
  async publishTo(
    target: Target,
    event: Omit<SystemEvent, "onlyWebhookId">,
  ): Promise<{ readonly eventId: string; readonly deliveryIds: readonly string[] }> {
    const now = this.#options.clock.now();
    const { tenantId, eventType, data, idempotencyKey } = event;
    let deliveryIds: readonly string[] = [];
    const receipt = await this.#commit(
      {
        tenantId,
        input: {
          eventType,
          data,
          source: "posthorn",
          ...(idempotencyKey !== undefined && { idempotencyKey }),
        },
        timestamp: now,
        now,
        payload: systemPayload(event),
        trace: null,
        relayed: null,
      },
      target,
      (draft) => (deliveryIds = draft.deliveries.map((delivery) => delivery.id)),
    );
    return { eventId: receipt.id, deliveryIds };
  }

  /**
   * Publishes a gateway message: event, deliveries and key in one transaction. It has no schema, so it is not
   * validated.
   */
  async publishRelayed(event: RelayedEvent, endpoints: () => readonly Endpoint[]): Promise<PublishReceipt> {
    this.#refuseWhenStopped();
    const now = this.#options.clock.now();
    const { tenantId, eventType, raw, source, relayed, key, request, targets, dedupMs: keptMs } = event;
    const accepted: AcceptedInput = {
      tenantId,
      input: { eventType, source, idempotencyKey: key },
      timestamp: now,
      now,
      payload: { kind: "raw", ...raw },
      trace: null,
      relayed,
      dedupMs: keptMs,
      request,
    };
    const delaysMs = new Map(targets.map(({ webhookId, delayMs }) => [webhookId, delayMs]));
    return this.#commit(accepted, { endpoints, origin: "publish", delaysMs });
  }

  // ---- render and find the webhooks ---------------------------------------------------------------------------

  #draft(accepted: AcceptedInput, target: Target): Draft {
    const { tenantId, input, now } = accepted;
    const priority = priorityOf(accepted);
    const deliveries: NewDelivery[] = [];
    const lanes: Lane[] = [];
    const body = content(accepted);
    const id = this.#options.nextId();
    const [first, rest] = firstOf(target.endpoints(), this.#eventRowsMax);
    const draftOf = (endpoint: Endpoint, isLater: boolean): NewDelivery => {
      const lane = endpoint.laneFor(input.eventType);
      if (!isLater) lanes.push(lane);
      return this.#draftDelivery(lane, accepted, target, body.body.length, isLater);
    };
    for (const endpoint of first) deliveries.push(draftOf(endpoint, false));
    const later = rest.map((endpoint) => draftOf(endpoint, true));
    const command: PublishCommand = {
      event: {
        id,
        tenantId,
        eventType: input.eventType,
        timestamp: accepted.timestamp,
        source: input.source ?? null,
        idempotencyKey: input.idempotencyKey ?? null,
        fingerprint: input.idempotencyKey === undefined ? null : fingerprint(accepted),
        priority,
        createdAt: now,
        trace: accepted.trace,
        relayed: accepted.relayed,
        ...body,
      },
      deliveries,
      ...(later.length > 0 && { later, partRows: this.#eventRowsMax }),
      dedupUntil: input.idempotencyKey === undefined ? null : now + (accepted.dedupMs ?? dedupMs),
      ...(accepted.request !== undefined && { request: accepted.request(id) }),
    };
    return { command, deliveries, lanes };
  }

  #draftDelivery(
    lane: Lane,
    accepted: AcceptedInput,
    { origin, delaysMs }: Target,
    bytes: number,
    isLater: boolean,
  ): NewDelivery {
    const { now } = accepted;
    const priority = priorityOf(accepted);
    const { id, status } = lane.endpoint.webhook;
    const delayMs = delaysMs?.get(id) ?? 0;
    const mayClaim = !isLater && delayMs === 0;
    const state = status === "active" ? "pending" : "skipped";
    return {
      id: this.#options.nextId(),
      lane: lane.key,
      priority,
      state,
      reason: status === "active" ? null : `webhook_${status}`,
      dueAt: now + delayMs,
      createdAt: now,
      origin,
      format: lane.endpoint.policy.payloadFormat,
      claim: state === "pending" && mayClaim && this.#reserve(lane, priority, bytes),
      leaseUntil: now + this.#options.leaseMs,
    };
  }

  /** Reserves memory for a delivery that may be leased and sent immediately. */
  #reserve(lane: Lane, priority: Priority, bytes: number): boolean {
    const { reservations } = this.#options.dispatcher;
    return reservations.reserve(lane, lane.tier(priority), bytes);
  }

  // ---- commit -------------------------------------------------------------------------------------------------

  #commit(
    accepted: AcceptedInput,
    target: Target,
    drafted: (draft: Draft) => void = () => undefined,
  ): Promise<PublishReceipt> {
    const { tenantId, input } = accepted;
    const { idempotencyKey } = input;
    const runningKey = idempotencyKey === undefined ? null : nameOf({ tenantId, idempotencyKey });
    if (runningKey !== null) {
      if (this.#running.has(runningKey)) return Promise.reject(inProgress());
      this.#running.add(runningKey);
    }
    let draft: Draft | null = null;
    return new Promise((resolve, reject) => {
      this.#options.commits.publish({
        size: { rows: 1 + Math.min(target.endpoints().length, this.#eventRowsMax), bytes: bytesOf(accepted) },
        compose: () => {
          draft = this.#draft(accepted, target);
          drafted(draft);
          return draft.command;
        },
        done: (result) => {
          if (runningKey !== null) this.#running.delete(runningKey);
          if (draft === null) return reject(publishError(result as Error));
          this.#committed(draft, result);
          this.#remember(draft, result);
          if (draft.command.later !== undefined) this.#options.fanOuts.kick();
          if (result instanceof Error) reject(publishError(result));
          else answer(draft, result, resolve, reject);
        },
      });
    });
  }

  #remember(draft: Draft, result: PublishResult | Error): void {
    const { knownPublishes } = this.#options;
    if (knownPublishes === null || result instanceof Error) return;
    const entry = rememberedEntry(draft, result);
    if (entry !== null) knownPublishes.remember(entry);
  }

  #committed(draft: Draft, result: PublishResult | Error): void {
    const { dispatcher } = this.#options;
    const accepted = !(result instanceof Error) && result.kind === "accepted" ? result : null;
    this.#options.telemetry.metrics.eventPublished(accepted === null);
    if (this.#options.spans !== null && accepted !== null)
      this.#options.spans.published(draft.command.event, deliveryCount(draft));
    for (let index = 0; index < draft.lanes.length; index += 1) {
      const delivery = draft.deliveries[index] as NewDelivery;
      const lane = draft.lanes[index] as Lane;
      const lease = accepted?.leases[index] ?? noLease;
      // With lease token 0, an earlier delivery of another process comes first, so this one is not leased.
      const isLeased = delivery.claim && lease.leaseToken > 0;
      if (delivery.claim && !isLeased) dispatcher.reservations.cancel(lane);
      if (accepted === null) continue;
      if (isLeased) {
        dispatcher.reservations.accept(
          lane,
          claimed(draft, delivery, lease, lane.endpoint.webhook.tenantId, accepted.sequenceNumber),
        );
      } else if (delivery.state === "pending") {
        dispatcher.stored(lane, lane.tier(delivery.priority), delivery.dueAt);
      }
    }
  }
}

/**
 * Splits endpoints into those whose deliveries are written with the event, and those whose deliveries follow. All
 * ordered webhooks are in the first group, because a younger event in the same lane could overtake a row that is
 * written later.
 */
function firstOf(
  endpoints: readonly Endpoint[],
  rowsMax: number,
): readonly [first: readonly Endpoint[], rest: readonly Endpoint[]] {
  if (endpoints.length <= rowsMax) return [endpoints, []];
  const ordered = endpoints.filter(({ webhook }) => webhook.ordering !== "none");
  const others = endpoints.filter(({ webhook }) => webhook.ordering === "none");
  const count = Math.max(0, rowsMax - ordered.length);
  return [[...ordered, ...others.slice(0, count)], others.slice(count)];
}

function systemPayload({ data, isBare = false }: Pick<SystemEvent, "data" | "isBare">): AcceptedPayload {
  const dataJson = JSON.stringify(data);
  if (!isBare) return { kind: "data", dataJson, metadataJson: null };
  return { kind: "raw", contentType: "application/json", body: Buffer.from(dataJson) };
}

async function entryOf(receipt: Promise<PublishReceipt>): Promise<PublishEntry> {
  try {
    return { kind: "published", receipt: await receipt };
  } catch (error) {
    if (error instanceof PosthornError) return { kind: "refused", error };
    throw error;
  }
}

function priorityOf({ input }: AcceptedInput): Priority {
  return input.priority ?? "normal";
}

/** Approximate size of the event's body. */
function bytesOf({ payload }: AcceptedInput): number {
  return payload.kind === "raw" ? payload.body.length : payload.dataJson.length;
}

function nameOf({ tenantId, idempotencyKey }: PublishKey): string {
  return `${tenantId}\n${idempotencyKey}`;
}

/** Schema validation budget for the events of one request: four times that of a single event. */
const requestValidationUnitsMax = 2_000_000;

const noLease: Lease = { ref: 0, deliveryId: "", leaseToken: 0 };
