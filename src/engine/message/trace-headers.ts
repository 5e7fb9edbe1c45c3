import { attemptSpanId, traceIdOf } from "../../core/tracing/span-ids.ts";
import { randomFlag, sampledFlag, traceparentOf } from "../../core/tracing/trace-context.ts";
import type { TracePolicy } from "../../core/webhook.ts";
import type { ComposedDelivery } from "./compose.ts";

/**
 * `traceparent` of one attempt, whose span is the parent of the receiver's spans; `tracestate` if that was agreed.
 */
export function traceHeaders(delivery: ComposedDelivery, policy: TracePolicy): readonly string[] {
  const { trace } = delivery;
  if (policy === "off" || (trace === null && policy !== "always")) return [];
  const traceparent = traceparentOf({
    traceId: traceIdOf(delivery.eventId, trace),
    spanId: attemptSpanId(delivery.id, delivery.progress.attemptCount + 1),
    flags: trace?.flags ?? sampledFlag | randomFlag,
  });
  const headers = ["traceparent", traceparent];
  const state = trace?.state ?? null;
  if (policy === "forward_with_state" && state !== null) headers.push("tracestate", state);
  return headers;
}
