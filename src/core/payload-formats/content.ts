import type { Priority } from "../delivery.ts";

/**
 * The stored parts of an event that a payload format may use. The body is the standard object, or with `raw` the
 * publisher's own bytes.
 */
export interface EventContent {
  readonly eventId: string;
  readonly tenantId: string;
  readonly eventType: string;
  /** When the event happened, in Unix milliseconds. */
  readonly timestamp: number;
  readonly source: string | null;
  /** The publisher's key; null when none was given. */
  readonly idempotencyKey: string | null;
  /** The published priority; a delivery may have been given another one by hand. */
  readonly eventPriority: Priority;
  readonly sequenceNumber: number;
  readonly contentType: string;
  readonly raw: boolean;
  readonly body: Uint8Array;
}

/** A message as it is sent: the same bytes and headers in every attempt. */
export interface RenderedContent {
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Flat name-value list of headers that belong to the content, such as `ce-type`. */
  readonly headers: readonly string[];
}

/** Renders an event. Pure, and frozen once released: attempts before and after an upgrade must send the same bytes. */
export type PayloadRenderer = (content: EventContent) => RenderedContent;

export const noContentHeaders: readonly string[] = [];
