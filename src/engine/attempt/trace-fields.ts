import type { LogFields } from "../../ports/telemetry.ts";
import type { ClaimedDelivery } from "../../ports/store/deliveries.ts";

/** Log field for deliveries whose event was published within a trace, with the name that log stores expect. */
export function traceFields({ trace }: Pick<ClaimedDelivery, "trace">): LogFields {
  return trace === null ? {} : { trace_id: trace.traceId };
}
