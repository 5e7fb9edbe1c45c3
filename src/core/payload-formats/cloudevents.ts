import { tryParseJson } from "../json/try-parse.ts";
import { type EventContent, noContentHeaders, type RenderedContent } from "./content.ts";
import { dataBytes } from "./standard.ts";

/**
 * CloudEvents 1.0 over HTTP: structured mode (one JSON object) and binary mode (attributes as `ce-*` headers, data as
 * the body). `id` is the event's id; `source` is the publisher's as a URI reference, or derived from the tenant's name.
 */
export function renderCloudEventStructured(content: EventContent): RenderedContent {
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
export function renderCloudEventBinary(content: EventContent): RenderedContent {
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

/** RFC 3986 without IP literals in brackets; a first segment with a colon needs a scheme before it. */
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
