import type { EventLink } from "../event.ts";

export interface StandardPayloadInput {
  readonly eventType: string;
  /** Unix milliseconds. */
  readonly timestamp: number;
  /** The event's `data`, already minified JSON. */
  readonly dataJson: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly links: readonly EventLink[] | null;
}

export const standardContentType = "application/json";

/**
 * The body of profile `standard`: minified JSON with `type`, `timestamp` and `data`, and `metadata` and `links` when
 * they were given (TS16-42, 43, 50). Nothing about the delivery itself goes in here (TS16-53).
 */
export function renderStandardPayload(input: StandardPayloadInput): Buffer {
  const tail =
    (input.metadata === null ? "" : `,"metadata":${JSON.stringify(input.metadata)}`) +
    (input.links === null ? "" : `,"links":${JSON.stringify(input.links)}`);
  const timestamp = new Date(input.timestamp).toISOString();
  return Buffer.from(
    `{"type":"${input.eventType}","timestamp":"${timestamp}","data":${input.dataJson}${tail}}`,
  );
}
