import type { EventLink } from "../event.ts";
import { type EventContent, noContentHeaders, type RenderedContent } from "./content.ts";
import { skipSpace } from "../json/members.ts";
import { endOfJsonValue } from "../json/value-end.ts";

export interface StandardPayloadInput {
  readonly eventType: string;
  /** Unix milliseconds. */
  readonly timestamp: number;
  /** The event's `data` and `metadata`, as their publisher wrote them. */
  readonly dataJson: string;
  readonly metadataJson: string | null;
  readonly links: readonly EventLink[] | null;
}

export const standardContentType = "application/json";

/**
 * The body of profile `standard`: JSON with `type`, `timestamp` and `data`, and `metadata` and `links` if given
 * (TS16-42, 43). Posthorn's part is minified (TS16-50); the publisher's part is unchanged. Nothing about the delivery
 * itself is included (TS16-53).
 */
export function renderStandardPayload(input: StandardPayloadInput): Buffer {
  const tail =
    (input.metadataJson === null ? "" : `,"metadata":${input.metadataJson}`) +
    (input.links === null ? "" : `,"links":${JSON.stringify(input.links)}`);
  return Buffer.from(`${standardHead(input.eventType, input.timestamp)}${input.dataJson}${tail}}`);
}

/** The stored bytes are sent unchanged, both the standard object and raw content (TS16-41). */
export function renderStandard({ contentType, body }: EventContent): RenderedContent {
  return { contentType, body, headers: noContentHeaders };
}

/** The bytes of `data` within a stored standard object, without a copy. */
export function dataBytes(content: Pick<EventContent, "eventType" | "timestamp" | "body">): Uint8Array {
  const start = standardHead(content.eventType, content.timestamp).length;
  return content.body.subarray(start, endOfJsonValue(content.body, start));
}

/** Whether the published `data` has no members. */
export function isEmptyData(
  content: Pick<EventContent, "eventType" | "timestamp" | "raw"> & { readonly body: Uint8Array },
): boolean {
  if (content.raw) return false;
  const start = standardHead(content.eventType, content.timestamp).length;
  return content.body[skipSpace(content.body, start + 1)] === closeBrace;
}

const closeBrace = 0x7d;

/** Everything before `data`; ASCII, because event types are. */
function standardHead(eventType: string, timestamp: number): string {
  return `{"type":"${eventType}","timestamp":"${new Date(timestamp).toISOString()}","data":`;
}
