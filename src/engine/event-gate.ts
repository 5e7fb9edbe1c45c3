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
import type { PublishInput, Scope } from "./services.ts";

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

/** A publish that may be stored: `dataJson` is its payload as minified JSON, times are Unix milliseconds. */
export interface AcceptedInput {
  readonly tenantId: string;
  readonly input: PublishInput;
  readonly timestamp: number;
  readonly now: number;
  readonly dataJson: string;
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
    const dataJson = jsonOf(input.data);
    if (dataJson instanceof PosthornError) return dataJson;
    const tooLarge = this.#tooLarge(dataJson, input);
    if (tooLarge !== null) return tooLarge;
    const violations = this.#options.schemaProblems({
      tenantId,
      eventType: input.eventType,
      data: input.data,
    });
    if (violations.length > 0) {
      return new SchemaViolationError(`data does not match the schema of ${input.eventType}`, violations);
    }
    const timestamp = input.timestamp === undefined ? now : (parseTimestamp(input.timestamp) ?? now);
    return { tenantId, input, timestamp, now, dataJson };
  }

  #problems(input: PublishInput, now: number): FieldError[] {
    const problems = eventFieldProblems(
      {
        data: input.data,
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

  /** The payload is the event's `data`, as minified UTF-8 JSON (WDS-116, WDS-200). */
  #tooLarge(dataJson: string, input: PublishInput): PosthornError | null {
    const bytesMax = this.#options.payloadBytesMax;
    // A UTF-16 unit becomes at most three bytes of UTF-8: short texts need no count.
    const bytes = dataJson.length * 3 <= largePayloadBytes ? dataJson.length : Buffer.byteLength(dataJson);
    if (bytes > bytesMax) return new PayloadTooLargeError({ bytes, bytesMax });
    if (bytes > largePayloadBytes) this.#options.telemetry.metrics.largePayload(bytes);
    if (input.metadata === undefined && input.links === undefined) return null;
    const extra = Buffer.byteLength(JSON.stringify([input.metadata, input.links]));
    return extra <= envelopeBytesMax
      ? null
      : new InvalidRequestError(
          `metadata and links together have ${extra} bytes; the limit is ${envelopeBytesMax}`,
          [{ field: input.metadata === undefined ? "links" : "metadata", message: "is too large" }],
        );
  }
}

/** What a repeat must have in common with the original; never the time of the call. */
export function fingerprint(accepted: AcceptedInput): string {
  const { input, dataJson } = accepted;
  return createHash("sha256")
    .update(
      JSON.stringify([
        input.eventType,
        input.timestamp ?? null,
        input.source ?? null,
        input.priority ?? null,
      ]),
    )
    .update(JSON.stringify([input.metadata ?? null, input.links ?? null]))
    .update(dataJson)
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
