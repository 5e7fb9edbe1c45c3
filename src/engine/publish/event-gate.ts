import { createHash } from "node:crypto";
import {
  type FieldError,
  InvalidRequestError,
  PayloadTooLargeError,
  PosthornError,
  SchemaViolationError,
} from "../../domain/errors.ts";
import { isEventTypeName, isSystemEventType } from "../../domain/event-type.ts";
import { JsonText, minified, readJsonText } from "../../domain/json/json-text.ts";
import type { Scope } from "../../domain/scope.ts";
import { parseTraceContext, type TraceContext } from "../../domain/tracing/trace-context.ts";
import type { Relayed } from "../../features/gateway/relayed.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventSchemas, ValidationAllowance } from "../../ports/schema-compiler.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import { eventFieldProblems, eventJsonBounds, parseTimestamp } from "../../resources/event-input.ts";
import type { PublishInput, RawContent, RelayedEvent } from "./publish-call.ts";

export interface EventGateOptions {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly tenantExists: (tenantId: string) => boolean;
  readonly schemas: EventSchemas;
  readonly payloadBytesMax: number;
}

/** The published payload: JSON exactly as its publisher wrote it, or bytes of any media type (EDS-2-1). */
export type AcceptedPayload =
  | { readonly kind: "data"; readonly dataJson: string; readonly metadataJson: string | null }
  | { readonly kind: "raw"; readonly contentType: string; readonly body: Uint8Array };

/** A validated publish. Timestamps are in Unix milliseconds. */
export interface AcceptedInput {
  readonly tenantId: string;
  readonly input: PublishInput;
  readonly timestamp: number;
  readonly now: number;
  readonly payload: AcceptedPayload;
  readonly trace: TraceContext | null;
  readonly relayed: Relayed | null;
  /** How long the key is remembered, if that differs from the default. */
  readonly dedupMs?: number;
  /** Set for events of the gateway. */
  readonly request?: RelayedEvent["request"];
}

/**
 * Decides whether an event may be published: checks fields, tenant, size, and the schema of its type, in this order.
 * Returns the error instead of throwing it, because a batch continues after an invalid event.
 */
export class EventGate {
  readonly #options: EventGateOptions;

  constructor(options: EventGateOptions) {
    this.#options = options;
  }

  /**
   * Loads and compiles the schema of the type if needed. Call before `accept`, and again after each returned promise,
   * until the result is null.
   */
  prepare(scope: Scope, input: PublishInput): Promise<void> | null {
    const { eventType, raw } = input;
    const tenantId = tenantOf(scope, input);
    if (raw !== undefined || typeof eventType !== "string" || !isEventTypeName(eventType)) return null;
    if (scope.tenantId !== null && tenantId !== scope.tenantId) return null;
    if (!this.#options.tenantExists(tenantId)) return null;
    return this.#options.schemas.prepare({ tenantId, name: eventType });
  }

  accept(scope: Scope, input: PublishInput, allowance?: ValidationAllowance): AcceptedInput | PosthornError {
    const now = this.#options.clock.now();
    const tenantId = tenantOf(scope, input);
    const given = this.#read(input);
    if (given instanceof PosthornError) return given;
    const problems = fieldProblems(input, given, now);
    if (scope.tenantId !== null && tenantId !== scope.tenantId) {
      problems.push({ field: "tenant_id", message: "is not the tenant of this API key" });
    } else if (!this.#options.tenantExists(tenantId)) {
      problems.push({ field: "tenant_id", message: "does not exist; create it with PUT /v1/tenants/{id}" });
    }
    if (problems.length > 0) return new InvalidRequestError(summary(problems), problems);
    const payload =
      input.raw === undefined ? this.#json(tenantId, input, given, allowance) : this.#raw(input.raw);
    if (payload instanceof PosthornError) return payload;
    const timestamp = input.timestamp === undefined ? now : (parseTimestamp(input.timestamp) ?? now);
    const trace = input.traceparent === undefined ? null : traceOf(input);
    return { tenantId, input, timestamp, now, payload, trace, relayed: null };
  }

  #read(input: PublishInput): GivenJson | PosthornError {
    try {
      const bytesMax = this.#options.payloadBytesMax;
      return {
        data: readGiven("data", input.data, input.dataJson, bytesMax),
        metadata: readGiven("metadata", input.metadata, input.metadataJson, envelopeBytesMax),
      };
    } catch (error) {
      if (error instanceof PosthornError) return error;
      throw error;
    }
  }

  #json(
    tenantId: string,
    input: PublishInput,
    given: GivenJson,
    allowance?: ValidationAllowance,
  ): AcceptedPayload | PosthornError {
    const dataJson = given.data.text ?? jsonOf("data", given.data.value);
    if (dataJson instanceof PosthornError) return dataJson;
    // A UTF-16 unit becomes at most three bytes of UTF-8, so the bytes of short strings need not be counted.
    const isShort = dataJson.length * 3 <= largePayloadBytes;
    const tooLarge = this.#tooLarge(isShort ? dataJson.length : Buffer.byteLength(dataJson));
    if (tooLarge !== null) return tooLarge;
    const { eventType } = input;
    const data = given.data.value;
    const violations = this.#options.schemas.problems({ tenantId, name: eventType, data }, allowance);
    if (violations.length > 0) {
      return new SchemaViolationError(`data does not match the schema of ${eventType}`, violations);
    }
    const metadataJson = given.metadata.text ?? metadataText(input.metadata);
    if (metadataJson instanceof PosthornError) return metadataJson;
    return envelopeTooLarge(input, metadataJson) ?? { kind: "data", dataJson, metadataJson };
  }

  /** Accepts opaque bytes: the publisher declares their type, and only their size is checked (EDS-2-1, EDS-9.1-4). */
  #raw({ contentType, body }: RawContent): AcceptedPayload | PosthornError {
    return this.#tooLarge(body.byteLength) ?? { kind: "raw", contentType, body };
  }

  /**
   * The error for a payload that is too large; null if it is not. The size is that of the event's `data` in UTF-8,
   * exactly as its publisher wrote it, or of the raw bytes (WDS-116, WDS-200).
   */
  #tooLarge(bytes: number): PosthornError | null {
    const bytesMax = this.#options.payloadBytesMax;
    if (bytes > bytesMax) return new PayloadTooLargeError(bytes, bytesMax);
    if (bytes > largePayloadBytes) this.#options.telemetry.metrics.largePayload(bytes);
    return null;
  }
}

function traceOf({ traceparent, tracestate }: PublishInput): TraceContext | null {
  return parseTraceContext(traceparent, tracestate);
}

function tenantOf(scope: Scope, input: PublishInput): string {
  return input.tenantId ?? scope.tenantId ?? "default";
}

/** The value for validation, and the publisher's text; null if the text must be serialized from the value. */
interface GivenValue {
  readonly value: unknown;
  readonly text: string | null;
}

interface GivenJson {
  readonly data: GivenValue;
  readonly metadata: GivenValue;
}

function readGiven(field: string, value: unknown, text: unknown, bytesMax: number): GivenValue {
  if (value instanceof JsonText) return value;
  if (text === undefined) return { value, text: null };
  if (value !== undefined)
    throw notReadable({ field, message: `cannot be given together with ${field}Json` });
  if (typeof text !== "string")
    throw notReadable({ field: `${field}Json`, message: "must be a string that contains JSON" });
  // Checked before parsing; the exact length in bytes is checked later.
  if (text.length > bytesMax) throw new PayloadTooLargeError(Buffer.byteLength(text), bytesMax);
  return readJsonText(text, eventJsonBounds, { what: `${field}Json`, field });
}

function notReadable({ field, message }: FieldError): InvalidRequestError {
  return new InvalidRequestError("the event is not valid", [{ field, message }]);
}

function fieldProblems(input: PublishInput, given: GivenJson, now: number): FieldError[] {
  const problems = eventFieldProblems(
    {
      data: given.data.value,
      raw: input.raw,
      metadata: given.metadata.value,
      links: input.links,
      source: input.source,
      timestamp: input.timestamp,
      idempotencyKey: input.idempotencyKey,
      priority: input.priority,
      traceparent: input.traceparent,
      tracestate: input.tracestate,
    },
    now,
  );
  if (typeof input.eventType !== "string" || !isEventTypeName(input.eventType)) {
    problems.unshift({
      field: "event_type",
      message:
        "must be words of letters, digits and _ joined by dots, such as user.created (up to 128 characters)",
    });
  } else if (isSystemEventType(input.eventType)) {
    problems.unshift({
      field: "event_type",
      message: "types that start with posthorn. are reserved",
    });
  }
  return problems;
}

function envelopeTooLarge({ links }: PublishInput, metadataJson: string | null): PosthornError | null {
  if (metadataJson === null && links === undefined) return null;
  const bytes = Buffer.byteLength(`[${metadataJson ?? "null"},${JSON.stringify(links ?? null)}]`);
  if (bytes <= envelopeBytesMax) return null;
  const field = metadataJson === null ? "links" : "metadata";
  return new InvalidRequestError(
    `metadata and links together have ${bytes} bytes; the limit is ${envelopeBytesMax}`,
    [{ field, message: "is too large" }],
  );
}

/**
 * Fingerprint of the data that a repeat must share with the original. The time of the call is excluded. JSON is
 * compared as written except for whitespace between tokens, so numbers that differ only beyond the precision of a
 * double still make different events.
 */
export function fingerprint(accepted: AcceptedInput): string {
  const { input, payload } = accepted;
  const isRaw = payload.kind === "raw";
  const metadataJson = isRaw ? null : payload.metadataJson;
  const fields = [
    input.eventType,
    input.timestamp ?? null,
    input.source ?? null,
    input.priority ?? null,
    ...(isRaw ? [payload.contentType] : []),
  ];
  return createHash("sha256")
    .update(JSON.stringify(fields))
    .update(
      `[${metadataJson === null ? "null" : minified(metadataJson)},${JSON.stringify(input.links ?? null)}]`,
    )
    .update(isRaw ? payload.body : minified(payload.dataJson))
    .digest("base64");
}

function metadataText(metadata: unknown): string | PosthornError | null {
  return metadata === undefined ? null : jsonOf("metadata", metadata);
}

/** Serializes a value. The result must be a JSON object; a date, for example, becomes a string. */
function jsonOf(field: string, value: unknown): string | PosthornError {
  let text: unknown;
  try {
    text = JSON.stringify(value);
  } catch {
    return notReadable({
      field,
      message: "must be serializable as JSON: no cycles, no BigInt, not nested too deeply",
    });
  }
  return typeof text === "string" && text.startsWith("{")
    ? text
    : notReadable({ field, message: "must be an object when serialized as JSON" });
}

function summary(problems: readonly FieldError[]): string {
  const fields = problems.slice(0, 5).map((problem) => problem.field);
  return `the event is not valid: ${fields.join(", ")}${problems.length > 5 ? ", …" : ""}`;
}

/** Payloads above this size are counted as large in metrics (recommended limit, TS16-51). */
const largePayloadBytes = 20_000;
const envelopeBytesMax = 65_536;
