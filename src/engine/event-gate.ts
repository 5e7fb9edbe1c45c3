import { createHash } from "node:crypto";
import {
  InvalidRequestError,
  PayloadTooLargeError,
  PosthornError,
  SchemaViolationError,
} from "../core/errors.ts";
import type { FieldError } from "../core/errors.ts";
import { eventFieldProblems, parseTimestamp } from "../core/event-input.ts";
import { isEventTypeName, isSystemEventType } from "../core/event-type.ts";
import type { Clock } from "../ports/clock.ts";
import type { FieldProblem } from "../ports/schema-compiler.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import type { PublishInput, RawContent, Scope } from "./services.ts";

export interface EventGateOptions {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly tenantExists: (tenantId: string) => boolean;
  readonly schemaProblems: (event: {
    readonly tenantId: string;
    readonly eventType: string;
    readonly data: unknown;
  }) => readonly FieldProblem[];
  readonly payloadBytesMax: number;
}

/** What is published: JSON `data`, minified, or bytes of any media type (EDS-2-1). */
export type AcceptedPayload =
  | { readonly kind: "data"; readonly dataJson: string }
  | { readonly kind: "raw"; readonly contentType: string; readonly body: Uint8Array };

/** A publish that may be stored. Times are Unix milliseconds. */
export interface AcceptedInput {
  readonly tenantId: string;
  readonly input: PublishInput;
  readonly timestamp: number;
  readonly now: number;
  readonly payload: AcceptedPayload;
}

/**
 * Decides whether an event may be published: fields, tenant, size, and the schema of its type, in this order. Returns
 * the error instead of throwing it, because a batch goes on after a bad event.
 */
export class EventGate {
  readonly #options: EventGateOptions;

  constructor(options: EventGateOptions) {
    this.#options = options;
  }

  accept(scope: Scope, input: PublishInput): AcceptedInput | PosthornError {
    const now = this.#options.clock.now();
    const tenantId = input.tenantId ?? scope.tenantId ?? "default";
    const problems = this.#problems(input, now);
    if (scope.tenantId !== null && tenantId !== scope.tenantId) {
      problems.push({ field: "tenant_id", message: "is not the tenant of this API key" });
    } else if (!this.#options.tenantExists(tenantId)) {
      problems.push({ field: "tenant_id", message: "does not exist; create it with PUT /v1/tenants/{id}" });
    }
    if (problems.length > 0) return new InvalidRequestError(summary(problems), problems);
    const payload = input.raw === undefined ? this.#data(tenantId, input) : this.#raw(input.raw);
    if (payload instanceof PosthornError) return payload;
    const timestamp = input.timestamp === undefined ? now : (parseTimestamp(input.timestamp) ?? now);
    return { tenantId, input, timestamp, now, payload };
  }

  #data(tenantId: string, input: PublishInput): AcceptedPayload | PosthornError {
    const dataJson = jsonOf(input.data);
    if (dataJson instanceof PosthornError) return dataJson;
    // A UTF-16 unit becomes at most three bytes of UTF-8: short texts need no count.
    const isShort = dataJson.length * 3 <= largePayloadBytes;
    const tooLarge = this.#tooLarge(isShort ? dataJson.length : Buffer.byteLength(dataJson));
    if (tooLarge !== null) return tooLarge;
    const { eventType, data } = input;
    const violations = this.#options.schemaProblems({ tenantId, eventType, data });
    if (violations.length > 0) {
      return new SchemaViolationError(`data does not match the schema of ${eventType}`, violations);
    }
    return envelopeTooLarge(input) ?? { kind: "data", dataJson };
  }

  /** Opaque bytes: their type is the publisher's word, and only their size is ours to judge (EDS-2-1, EDS-9.1-4). */
  #raw({ contentType, body }: RawContent): AcceptedPayload | PosthornError {
    return this.#tooLarge(body.byteLength) ?? { kind: "raw", contentType, body };
  }

  #problems(input: PublishInput, now: number): FieldError[] {
    const problems = eventFieldProblems(
      {
        data: input.data,
        raw: input.raw,
        metadata: input.metadata,
        links: input.links,
        source: input.source,
        timestamp: input.timestamp,
        idempotencyKey: input.idempotencyKey,
        priority: input.priority,
      },
      now,
    );
    if (typeof input.eventType !== "string" || !isEventTypeName(input.eventType)) {
      problems.unshift({
        field: "event_type",
        message:
          "must be words of letters, digits and _ joined by dots, such as user.created (128 characters at most)",
      });
    } else if (isSystemEventType(input.eventType)) {
      problems.unshift({
        field: "event_type",
        message: "types that start with posthorn. are the system's own",
      });
    }
    return problems;
  }

  /** The payload is the event's `data` as minified UTF-8 JSON, or the raw bytes (WDS-116, WDS-200). */
  #tooLarge(bytes: number): PosthornError | null {
    const bytesMax = this.#options.payloadBytesMax;
    if (bytes > bytesMax) return new PayloadTooLargeError({ bytes, bytesMax });
    if (bytes > largePayloadBytes) this.#options.telemetry.metrics.largePayload(bytes);
    return null;
  }
}

function envelopeTooLarge(input: PublishInput): PosthornError | null {
  if (input.metadata === undefined && input.links === undefined) return null;
  const bytes = Buffer.byteLength(JSON.stringify([input.metadata, input.links]));
  if (bytes <= envelopeBytesMax) return null;
  const field = input.metadata === undefined ? "links" : "metadata";
  return new InvalidRequestError(
    `metadata and links together have ${bytes} bytes; the limit is ${envelopeBytesMax}`,
    [{ field, message: "is too large" }],
  );
}

/** What a repeat must have in common with the original; never the time of the call. */
export function fingerprint(accepted: AcceptedInput): string {
  const { input, payload } = accepted;
  const content = payload.kind === "raw" ? [payload.contentType] : [];
  return createHash("sha256")
    .update(
      JSON.stringify([
        input.eventType,
        input.timestamp ?? null,
        input.source ?? null,
        input.priority ?? null,
        ...content,
      ]),
    )
    .update(JSON.stringify([input.metadata ?? null, input.links ?? null]))
    .update(payload.kind === "raw" ? payload.body : payload.dataJson)
    .digest("base64");
}

function jsonOf(data: unknown): string | PosthornError {
  try {
    return JSON.stringify(data);
  } catch {
    return new InvalidRequestError("data cannot be written as JSON", [
      { field: "data", message: "must be writable as JSON: no cycles, no BigInt, not nested too deeply" },
    ]);
  }
}

function summary(problems: readonly FieldError[]): string {
  const fields = problems.slice(0, 5).map((problem) => problem.field);
  return `the event is not valid: ${fields.join(", ")}${problems.length > 5 ? ", …" : ""}`;
}

/** Recommended upper size of a payload (TS16-51, C-49). */
const largePayloadBytes = 20_000;
const envelopeBytesMax = 65_536;
