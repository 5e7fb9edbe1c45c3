/** Events of the engine stand-in. */
import { randomUUID } from "node:crypto";
import {
  DuplicateEventError,
  InvalidRequestError,
  NotFoundError,
  PayloadTooLargeError,
  PosthornError,
} from "../../../src/domain/errors.ts";
import { isSystemEventType, matches } from "../../../src/domain/event-type.ts";
import { JsonText } from "../../../src/domain/json/json-text.ts";
import type { PublishInput, PublishReceipt, Scope, Services } from "../../../src/features/services.ts";
import type { StoredEvent } from "../../../src/ports/store/history.ts";
import { eventFieldProblems, parseTimestamp } from "../../../src/resources/event-input.ts";
import { found } from "./deliveries.fixture.ts";
import { addDelivery, pageOf, type StandInOptions, type World } from "./world.fixture.ts";

type EventOptions = StandInOptions & { readonly tenantExists: (id: string) => boolean };

export function createEvents(world: World, options: EventOptions): Services["events"] {
  const get = async (scope: Scope, id: string): Promise<StoredEvent> => {
    const event = world.events.get(id);
    if (event === undefined || (scope.tenantId ?? event.tenantId) !== event.tenantId)
      throw new NotFoundError("this event");
    return event;
  };
  const publish = async (scope: Scope, input: PublishInput): Promise<PublishReceipt> =>
    publishOne(world, options, { scope, input: asValues(input) });
  return {
    publish,
    publishMany: (scope, inputs) =>
      Promise.all(
        inputs.map(async (input) => {
          try {
            return { kind: "published", receipt: await publish(scope, input) } as const;
          } catch (error) {
            if (error instanceof PosthornError) return { kind: "refused", error } as const;
            throw error;
          }
        }),
      ),
    get,
    list: async (scope, query) => {
      const rows = [...world.events.values()].filter(
        (event) =>
          event.tenantId === (scope.tenantId ?? query.tenantId ?? event.tenantId) &&
          (query.eventTypes?.some((pattern) => matches(pattern, event.eventType)) ?? true) &&
          event.createdAt >= (query.from ?? 0) &&
          event.createdAt <= (query.to ?? Infinity),
      );
      const { limit, offset, after } = query.page;
      const page = pageOf(rows, { limit, offset, before: after?.position ?? null });
      const next = page.next === null ? null : { position: page.next, dueAt: null, skip: 0 };
      const searchedTo = next === null ? null : (page.rows.at(-1)?.createdAt ?? null);
      return { rows: page.rows, next, searchedTo, isComplete: true };
    },
    deliveries: async (scope, query) => {
      await get(scope, query.eventId);
      return found(world, query);
    },
    matches: async (scope, { eventId }) => {
      const event = await get(scope, eventId);
      const webhooks = world.shelf.all().map(({ webhook }) => webhook);
      const rows = webhooks
        .filter(({ tenantId }) => tenantId === event.tenantId)
        .map((webhook) => ({ webhook, delivery: null, reason: "other_type" as const }));
      return { rows, next: null };
    },
    replay: async (scope, { eventId, webhookIds = null }) => {
      const event = await get(scope, eventId);
      const chosen = world.shelf
        .all()
        .filter(
          ({ webhook }) => webhook.tenantId === event.tenantId && (webhookIds?.includes(webhook.id) ?? true),
        );
      if (webhookIds !== null && chosen.length < webhookIds.length) throw new NotFoundError("this webhook");
      return chosen.map(({ webhook }) => {
        const delivery = addDelivery(world, {
          event,
          webhookId: webhook.id,
          origin: "replay",
          now: options.now(),
        });
        return { deliveryId: delivery.id, webhookId: webhook.id };
      });
    },
  };
}

function publishOne(
  world: World,
  options: EventOptions,
  call: { readonly scope: Scope; readonly input: PublishInput },
): PublishReceipt {
  const { scope, input } = call;
  const now = options.now();
  const tenantId = input.tenantId ?? scope.tenantId ?? "default";
  const { data, metadata, links, source, timestamp, idempotencyKey, priority } = input;
  refuseBadEvent(options, { ...call, tenantId });
  const { contentType, size: bytes } = contentOf(input);
  if (bytes > options.payloadBytesMax) throw new PayloadTooLargeError(bytes, options.payloadBytesMax);
  const body = { type: input.eventType, timestamp: new Date(now).toISOString(), data, metadata, links };
  const bodyBytes = input.raw?.body ?? Buffer.from(JSON.stringify(body));
  const content = JSON.stringify([{ ...body, timestamp }, input.raw]);
  const keyName = `${tenantId}\n${idempotencyKey ?? ""}`;
  const known = idempotencyKey === undefined ? undefined : world.keys.get(keyName);
  if (known !== undefined) {
    if (known.content === content) return { ...known.receipt, duplicate: true };
    throw new DuplicateEventError(known.receipt.id, "event_key_reused", "The key belongs to another event.");
  }
  const targets = world.shelf
    .all()
    .filter(
      ({ webhook }) =>
        webhook.tenantId === tenantId && webhook.events.some((pattern) => matches(pattern, input.eventType)),
    );
  const event: StoredEvent = {
    id: randomUUID(),
    tenantId,
    eventType: input.eventType,
    timestamp: timestamp === undefined ? now : (parseTimestamp(timestamp) ?? now),
    source: source ?? null,
    trace: null,
    relayed: null,
    idempotencyKey: idempotencyKey ?? null,
    priority: priority ?? "normal",
    createdAt: now,
    sequenceNumber: world.position + 1,
    contentType,
    raw: input.raw !== undefined,
    body: bodyBytes,
    position: ++world.position,
    deliveries: targets.length,
  };
  world.events.set(event.id, event);
  for (const { webhook } of targets)
    addDelivery(world, { event, webhookId: webhook.id, origin: "publish", now });
  const receipt = {
    id: event.id,
    eventType: event.eventType,
    tenantId,
    timestamp: event.timestamp,
    idempotencyKey: idempotencyKey ?? event.id,
    sequenceNumber: event.sequenceNumber,
    deliveries: targets.length,
    duplicate: false,
  };
  if (idempotencyKey !== undefined) world.keys.set(keyName, { receipt, content });
  return receipt;
}

/** The stand-in stores parsed values. Suites that run the whole program test that JSON text is preserved. */
function asValues({ data, metadata, ...input }: PublishInput): PublishInput {
  return {
    ...input,
    ...(data !== undefined && { data: data instanceof JsonText ? data.value : data }),
    ...(metadata !== undefined && {
      metadata: (metadata instanceof JsonText ? metadata.value : metadata) as Record<string, unknown>,
    }),
  };
}

function contentOf({ data, raw }: PublishInput): { readonly contentType: string; readonly size: number } {
  if (raw === undefined)
    return { contentType: "application/json", size: Buffer.byteLength(JSON.stringify(data)) };
  return { contentType: raw.contentType, size: raw.body.byteLength };
}

function refuseBadEvent(
  options: EventOptions,
  call: { readonly scope: Scope; readonly input: PublishInput; readonly tenantId: string },
): void {
  const { input, scope, tenantId } = call;
  const problems = eventFieldProblems(
    {
      metadata: undefined,
      links: undefined,
      source: undefined,
      timestamp: undefined,
      idempotencyKey: undefined,
      priority: undefined,
      traceparent: undefined,
      tracestate: undefined,
      ...input,
      data: input.data,
      raw: input.raw,
    },
    options.now(),
  );
  if ((scope.tenantId ?? tenantId) !== tenantId || !options.tenantExists(tenantId)) {
    problems.push({ field: "tenant_id", message: "does not exist" });
  }
  if (isSystemEventType(input.eventType))
    problems.push({ field: "event_type", message: "is the system's own" });
  if (problems.length > 0) throw new InvalidRequestError("The event is not valid.", problems);
}
