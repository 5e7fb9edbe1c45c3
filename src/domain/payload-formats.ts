import type { Priority } from "./delivery.ts";
import type { EventLink } from "./event-type.ts";
import { type Span, elementsOf, endOfJsonValue, membersOf, skipSpace, textOf } from "./json/members.ts";
import { tryParseJson } from "./json/json-text.ts";
import type { PayloadFormatName } from "./profile.ts";

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
  /** The publisher's key; null if none was given. */
  readonly idempotencyKey: string | null;
  /** The published priority. A different priority may have been set manually for the delivery. */
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

/**
 * Renders an event. Pure. A renderer must not change after its release, because attempts before and after an upgrade
 * must send the same bytes.
 */
type PayloadRenderer = (content: EventContent) => RenderedContent;

const noContentHeaders: readonly string[] = [];

export const standardContentType = "application/json";

/**
 * The body of the profile `standard`: JSON with `type`, `timestamp` and `data`, and `metadata` and `links` if given
 * (TS16-42, 43). Posthorn's part is minified (TS16-50); the publisher's part is unchanged. Nothing about the delivery
 * itself is included (TS16-53).
 */
export function renderStandardPayload(
  eventType: string,
  timestamp: number,
  dataJson: string,
  metadataJson: string | null,
  links: readonly EventLink[] | null,
): Buffer {
  const tail =
    (metadataJson === null ? "" : `,"metadata":${metadataJson}`) +
    (links === null ? "" : `,"links":${JSON.stringify(links)}`);
  return Buffer.from(`${standardHead(eventType, timestamp)}${dataJson}${tail}}`);
}

/** The stored bytes are sent unchanged, both for the standard object and for raw content (TS16-41). */
function renderStandard({ contentType, body }: EventContent): RenderedContent {
  return { contentType, body, headers: noContentHeaders };
}

/** The bytes of `data` within a stored standard object, without a copy. */
function dataBytes(content: Pick<EventContent, "eventType" | "timestamp" | "body">): Uint8Array {
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

/** Everything before `data`. ASCII, because event types are ASCII. */
function standardHead(eventType: string, timestamp: number): string {
  return `{"type":"${eventType}","timestamp":"${new Date(timestamp).toISOString()}","data":`;
}

/**
 * CloudEvents 1.0 over HTTP: structured mode (one JSON object) and binary mode (attributes as `ce-*` headers, data as
 * the body). `id` is the event's ID. `source` is the publisher's source as a URI reference, or is derived from the
 * tenant's name.
 */
function renderCloudEventStructured(content: EventContent): RenderedContent {
  const attributes = JSON.stringify({
    specversion: "1.0",
    id: content.eventId,
    source: sourceOf(content),
    type: content.eventType,
    time: new Date(content.timestamp).toISOString(),
    datacontenttype: content.contentType,
  });
  const head = Buffer.from(attributes.slice(0, -1));
  const body = Buffer.concat([head, ...dataMember(content), closing]);
  return { contentType: "application/cloudevents+json", body, headers: noContentHeaders };
}

/** Binary mode. Attribute values are percent-encoded as the HTTP binding requires (section 3.1.3.2). */
function renderCloudEventBinary(content: EventContent): RenderedContent {
  const attributes = {
    "ce-specversion": "1.0",
    "ce-id": content.eventId,
    "ce-source": sourceOf(content),
    "ce-type": content.eventType,
    "ce-time": new Date(content.timestamp).toISOString(),
  };
  return {
    contentType: content.contentType,
    body: content.raw ? content.body : dataBytes(content),
    headers: Object.entries(attributes).flatMap(([name, value]) => [name, encodeHeaderValue(value)]),
  };
}

/** `data` for JSON and text, otherwise `data_base64` (JSON event format, section 3.1). */
function dataMember(content: EventContent): readonly Uint8Array[] {
  if (!content.raw) return [dataKey, dataBytes(content)];
  const text = isText(content.contentType) ? decodeUtf8(content.body) : null;
  if (text === null) {
    return [Buffer.from(`,"data_base64":"${Buffer.from(content.body).toString("base64")}"`)];
  }
  if (isJson(content.contentType) && tryParseJson(text) !== undefined) return [dataKey, content.body];
  return [dataKey, Buffer.from(JSON.stringify(text))];
}

const dataKey = Buffer.from(',"data":');
const closing = Buffer.from("}");

/** A URI reference (CloudEvents 1.0, `source`). */
function sourceOf({ source, tenantId }: EventContent): string {
  if (source === null) return `/tenants/${encodeURIComponent(tenantId)}`;
  return isUriReference(source) ? source : encodeURIComponent(source);
}

/** RFC 3986 without IP literals in brackets. A first segment that contains a colon requires a scheme before it. */
function isUriReference(text: string): boolean {
  return uriReference.test(text);
}

const uriReference =
  /^(?:[A-Za-z][A-Za-z0-9+.-]*:|(?![^/?#]*:))(?:[A-Za-z0-9\-._~:/@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*(?:\?(?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)?(?:#(?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)?$/;

/** Percent-encodes space, quote, percent and everything outside printable ASCII as UTF-8. */
function encodeHeaderValue(value: string): string {
  return value.replaceAll(/[^\x21\x23\x24\x26-\x7e]+/gu, (part) =>
    [...Buffer.from(part, "utf8")]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
      .join(""),
  );
}

function isJson(contentType: string): boolean {
  return /^[^;]*[/+]json\s*(?:;|$)/i.test(contentType);
}

function isText(contentType: string): boolean {
  return isJson(contentType) || /^(?:text\/|[^;]*[/+]xml\s*(?:;|$))/i.test(contentType);
}

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Profile `event-delivery`: the published data without an envelope, byte for byte (EDS-2-1, EDS-9.1-4). */
function renderData(content: EventContent): RenderedContent {
  const body = content.raw ? content.body : dataBytes(content);
  return { contentType: content.contentType, body, headers: noContentHeaders };
}

/** Maximum bytes of an identifier. */
const valueBytesMax = 256;

/**
 * The standard object reduced to what a receiver needs to request the rest from its provider (TS16-49): the identifiers
 * of `data`, as they were written, and `links`. An identifier is a string, a number, or a list of these, named `id` or
 * `uuid`, or with a name that ends in `_id`, `_ids`, `Id` or `Ids`. If `data` has no identifiers, or the event is raw
 * content, `data` contains the ID of the event.
 */
function renderStandardThin(content: EventContent): RenderedContent {
  const { eventType, timestamp, eventId, raw, body } = content;
  const members = raw ? new Map<string, Span>() : membersOf(body, 0);
  const data = members.get("data");
  const identifiers = data === undefined ? [] : identifiersOf(body, data);
  const kept = identifiers.length > 0 ? identifiers : [`"event_id":${JSON.stringify(eventId)}`];
  const links = members.get("links");
  const tail = links === undefined ? "" : `,"links":${textOf(body, links)}`;
  const head = `{"type":"${eventType}","timestamp":"${new Date(timestamp).toISOString()}","data":`;
  return {
    contentType: standardContentType,
    body: Buffer.from(`${head}{${kept.join()}}${tail}}`),
    headers: noContentHeaders,
  };
}

function identifiersOf(body: Uint8Array, data: Span): readonly string[] {
  if (body[data.start] !== openBrace) return [];
  return [...membersOf(body, data.start)].flatMap(([name, span]) =>
    names.test(name) && isIdentifier(body, span) ? [`${JSON.stringify(name)}:${textOf(body, span)}`] : [],
  );
}

function isIdentifier(body: Uint8Array, span: Span): boolean {
  if (span.end - span.start > valueBytesMax) return false;
  const first = body[span.start];
  if (first === openBracket) return elementsOf(body, span.start).every(({ start }) => isPlain(body[start]));
  return isPlain(first);
}

/** The first byte of a string or number. */
function isPlain(byte: number | undefined): boolean {
  return byte !== undefined && (byte === quote || byte === minus || (byte >= zero && byte <= nine));
}

const names = /^(?:id|uuid)$|(?:_id|_ids|Id|Ids)$/;
const quote = 0x22;
const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;
const openBracket = 0x5b;
const openBrace = 0x7b;

/**
 * Profile `x-webhook`: the event object of WDS-81 to 88. `idempotency_key` is the publisher's key, or the event's ID if
 * none was given (WDS-172). Raw content is sent unchanged, because the object cannot contain other media types.
 */
function renderXWebhook(content: EventContent): RenderedContent {
  if (content.raw) return { contentType: content.contentType, body: content.body, headers: noContentHeaders };
  const { eventId, eventType, source, eventPriority, sequenceNumber } = content;
  const head = `{"id":"${eventId}","event_type":"${eventType}","data":`;
  const tail = JSON.stringify({
    timestamp: new Date(content.timestamp).toISOString(),
    idempotency_key: content.idempotencyKey ?? eventId,
    source,
    priority: eventPriority,
    sequence_number: sequenceNumber,
  });
  const body = Buffer.concat([Buffer.from(head), dataBytes(content), Buffer.from(`,${tail.slice(1)}`)]);
  return { contentType: "application/json", body, headers: noContentHeaders };
}

const renderers: Readonly<Record<PayloadFormatName, PayloadRenderer>> = {
  standard: renderStandard,
  data: renderData,
  "x-webhook": renderXWebhook,
  "cloudevents-structured": renderCloudEventStructured,
  "cloudevents-binary": renderCloudEventBinary,
  "standard-thin": renderStandardThin,
};

/** The message of an event in a format. It is the same for every attempt of all its deliveries. */
export function renderPayload(format: PayloadFormatName, content: EventContent): RenderedContent {
  return renderers[format](content);
}
