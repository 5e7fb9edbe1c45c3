import type { BatchOperation, RetriedDelivery, RenderedRequest, RetryInput } from "./api-types.ts";
import type { Caller, CallOptions } from "./caller.ts";
import { callsOf, pathTo } from "./calls.ts";

/** Published events. */
export function eventsOf(caller: Caller) {
  const { list, listOf, one, sendTo } = callsOf(caller);
  return {
    /** Newest first. */
    list: list<"listEvents">("/v1/events"),
    get: one<"getEvent">("GET /v1/events/{id}"),
    deliveries: listOf<"listEventDeliveries">("/v1/events/{id}/deliveries"),
    /** Which webhooks got the event, and why the others did not. */
    matches: listOf<"listEventMatches">("/v1/events/{id}/matches"),
    /** Delivers the event again, with the same id. */
    replay: sendTo<"replayEvent">("POST /v1/events/{id}/replay"),
  };
}

/** Deliveries of events: one for each webhook that gets the event. */
export function deliveriesOf(caller: Caller) {
  const { list, listOf, one, send } = callsOf(caller);
  return {
    list: list<"listDeliveries">("/v1/deliveries"),
    listOfWebhook: listOf<"listWebhookDeliveries">("/v1/webhooks/{id}/deliveries"),
    /** Includes every attempt, and what the delivery waits for and until when. */
    get: one<"getDelivery">("GET /v1/deliveries/{id}"),

    /** Sends it again, due at once: the same delivery, or a copy of one that succeeded. */
    retry: (
      { webhook_id: webhookId, id }: { readonly webhook_id: string; readonly id: string },
      body: RetryInput = {},
      options?: CallOptions,
    ): Promise<RetriedDelivery> => {
      const path = pathTo("/v1/webhooks/{id}/deliveries/{delivery_id}/retry", webhookId, id);
      return caller.call("POST", { ...options, path, body });
    },
    retryBatch: send<"retryDeliveries">("POST /v1/deliveries/retry-batch"),
    cancelBatch: send<"cancelDeliveries">("POST /v1/deliveries/cancel-batch"),

    /** The request of an attempt, rebuilt from stored data. */
    request: (
      { id, attempt }: { readonly id: string; readonly attempt: number },
      options?: CallOptions,
    ): Promise<RenderedRequest> =>
      caller.call("GET", {
        ...options,
        path: pathTo("/v1/deliveries/{id}/attempts/{n}/request", id, attempt),
      }),
  };
}

/** Dead letters: deliveries that will not be retried automatically. */
export function deadLettersOf(caller: Caller) {
  const { list, send } = callsOf(caller);
  return {
    list: list<"listDeadLetters">("/v1/dlq"),
    retryBatch: send<"retryDeadLetters">("POST /v1/dlq/retry-batch"),
    discardBatch: send<"discardDeadLetters">("POST /v1/dlq/discard-batch"),
  };
}

const pollMsDefault = 1_000;
const ended: ReadonlySet<string> = new Set(["completed", "cancelled", "failed"]);

/** Bulk operations, which continue after the call that started them. */
export function operationsOf(caller: Caller) {
  const { list, one, sendTo } = callsOf(caller);
  const get = one<"getOperation">("GET /v1/operations/{id}");
  return {
    list: list<"listOperations">("/v1/operations"),
    get,
    /** Changes the rate, pauses or resumes. */
    update: sendTo<"changeOperation">("PATCH /v1/operations/{id}"),
    cancel: one<"cancelOperation">("DELETE /v1/operations/{id}"),

    /** Resolves with the result when the operation has ended. */
    wait: async (
      id: string,
      { pollMs = pollMsDefault, ...options }: CallOptions & { readonly pollMs?: number } = {},
    ): Promise<BatchOperation> => {
      for (;;) {
        const operation = await get(id, options);
        if (ended.has(operation.status)) return operation;
        await caller.time.sleep(pollMs, options.signal);
      }
    },
  };
}
