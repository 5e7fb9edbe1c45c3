import { tracedCharactersMax, tracedFieldsMax } from "../../../ports/transport.ts";
import type { WireTrace } from "../../../ports/transport.ts";
import type { Connection } from "./connection.ts";
import type { RawFields } from "./response-fields.ts";

/** The data of an exchange at its end. Times in monotonic milliseconds. */
export interface TracedExchange {
  readonly connection: Pick<Connection, "httpVersion" | "times"> | null;
  readonly isSecure: boolean;
  readonly head: RawFields | null;
  readonly startedMs: number;
  /** Time of the answer's head, or of the end without one; null if unknown. */
  readonly waitedUntilMs: number | null;
}

/** A reused connection has no dial times in this attempt. */
export function wireTrace(exchange: TracedExchange): WireTrace {
  const { connection, isSecure, startedMs, waitedUntilMs } = exchange;
  const times = connection?.times ?? null;
  const isNew = times !== null && times.startedMs >= startedMs;
  const readyMs = times?.readyMs(isSecure) ?? null;
  return {
    httpVersion: readyMs === null ? null : (connection?.httpVersion ?? null),
    peerAddress: times?.peerAddress ?? null,
    ...fieldsOf(exchange.head),
    timings: {
      dnsMs: isNew ? times.dnsMs : null,
      connectMs: isNew ? times.connectMs : null,
      tlsMs: isNew ? times.tlsMs : null,
      waitMs:
        readyMs === null || waitedUntilMs === null
          ? null
          : Math.round(waitedUntilMs - Math.max(readyMs, startedMs)),
    },
  };
}

function fieldsOf(head: RawFields | null): Pick<WireTrace, "responseHeaders" | "headersCut"> {
  const responseHeaders: string[] = [];
  let room = tracedCharactersMax;
  for (const [name, given] of Object.entries(head ?? {})) {
    if (name.startsWith(":") || given === undefined) continue;
    for (const value of typeof given === "string" ? [given] : given) {
      if (responseHeaders.length >= 2 * tracedFieldsMax || room <= name.length)
        return { responseHeaders, headersCut: true };
      const kept = value.slice(0, room - name.length);
      responseHeaders.push(name, kept);
      room -= name.length + kept.length;
      if (kept.length < value.length) return { responseHeaders, headersCut: true };
    }
  }
  return { responseHeaders, headersCut: false };
}
