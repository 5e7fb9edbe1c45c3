import { type AttemptTrace, boundedTrace, isTraced } from "../../core/attempt-trace.ts";
import { maskedField, maskedParameters } from "../../core/http/masked-fields.ts";
import type { Verdict } from "../../core/outcome.ts";
import type { TransportResult, WireTrace } from "../../ports/transport.ts";
import type { Flight } from "./flight.ts";
import { masked } from "./masked.ts";

/** Network details of an attempt: recorded for all failed attempts and a sample of the accepted ones. */
export function attemptTrace(flight: Flight, verdict: Verdict, result: TransportResult): AttemptTrace | null {
  if (verdict.outcome === "accepted" && !isTraced(flight.delivery.id)) return null;
  const wire = result.trace ?? untraced;
  return boundedTrace({
    url: maskedParameters(masked(flight, { text: flight.webhook.url, wasCut: false })),
    httpVersion: wire.httpVersion,
    peerAddress: wire.peerAddress,
    responseHeaders: shownHeaders(flight, wire),
    timings: wire.timings,
    configRevision: flight.webhook.revision,
    truncated: wire.headersCut,
  });
}

/** No request was sent, or the sender thread ended. */
const untraced: WireTrace = {
  httpVersion: null,
  peerAddress: null,
  responseHeaders: [],
  headersCut: false,
  timings: { dnsMs: null, connectMs: null, tlsMs: null, waitMs: null },
};

function shownHeaders(flight: Flight, { responseHeaders, headersCut }: WireTrace): readonly string[] {
  return responseHeaders.map((text, index) => {
    if (index % 2 === 0) return text;
    const shown = maskedField(responseHeaders[index - 1] ?? "", text);
    return masked(flight, { text: shown, wasCut: headersCut && index === responseHeaders.length - 1 });
  });
}
