import type { LogFields } from "../../ports/telemetry.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";

/** Of a log line about a delivery whose event was published within a trace, under the name that log stores look for. */
export function traceFields({ trace }: Pick<ClaimedDelivery, "trace">): LogFields {
  return trace === null ? {} : { trace_id: trace.traceId };
}
