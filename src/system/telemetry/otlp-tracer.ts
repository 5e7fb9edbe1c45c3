import type { LookupFunction } from "node:net";
import { type HrTime, type SpanContext, SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { ExportResultCode, TraceState } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from "@opentelemetry/sdk-trace";
import type { TraceSampling } from "../../domain/tracing/sampling.ts";
import type { Span } from "../../domain/tracing/trace-context.ts";
import { type Clock, withDeadline } from "../../ports/clock.ts";
import type { Logger, Tracer } from "../../ports/telemetry.ts";

/** Totals since startup. */
export interface TracerReading {
  readonly exported: number;
  readonly dropped: Readonly<Record<"limit" | "queue_full" | "export_failed", number>>;
}

export interface OtlpTracerOptions {
  readonly sampling: TraceSampling;
  readonly serviceVersion: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Resolves the collector's name in place of the system's resolver. */
  readonly lookup?: LookupFunction;
}

/** Maximum number of spans waiting for export. */
const queueMax = 4_096;
const batchMax = 512;
const delayMs = 5_000;
/** How long a shutdown waits for the collector. */
const closeMs = 2_000;
const complainEveryMs = 60_000;

/**
 * Exports spans over OTLP/HTTP with OpenTelemetry's exporter and batch processor, which read their configuration from
 * the standard settings (`OTEL_EXPORTER_OTLP_*`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`). If the collector is
 * unavailable, only spans are lost.
 */
export class OtlpTracer implements Tracer {
  readonly sampling: TraceSampling;
  readonly #options: OtlpTracerOptions;
  readonly #processor: BatchSpanProcessor;
  readonly #resource: ReadableSpan["resource"];
  readonly #scope: ReadableSpan["instrumentationScope"];
  readonly #dropped = { limit: 0, queue_full: 0, export_failed: 0 };
  #waiting = 0;
  #exported = 0;
  #complainedAt = Number.NEGATIVE_INFINITY;

  constructor(options: OtlpTracerOptions) {
    this.#options = options;
    const { lookup } = options;
    this.sampling = options.sampling;
    this.#scope = { name: "posthorn", version: options.serviceVersion };
    this.#resource = resourceFromAttributes({
      "service.name": "posthorn",
      "service.version": options.serviceVersion,
    }).merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }));
    this.#processor = new BatchSpanProcessor({
      exporter: this.#counted(
        new OTLPTraceExporter(lookup === undefined ? {} : { httpAgentOptions: { lookup } }),
      ),
      maxQueueSize: queueMax,
      maxExportBatchSize: batchMax,
      scheduledDelayMillis: delayMs,
    });
  }

  ended(span: Span): void {
    if (this.#waiting >= queueMax) {
      this.#dropped.queue_full += 1;
      return;
    }
    this.#waiting += 1;
    this.#processor.onEnd(this.#readable(span));
  }

  passedOver(): void {
    this.#dropped.limit += 1;
  }

  read(): TracerReading {
    return { exported: this.#exported, dropped: { ...this.#dropped } };
  }

  /** Exports pending spans within the time allowed for a shutdown. */
  async close(): Promise<void> {
    const closed = this.#processor.shutdown().catch(() => undefined);
    await withDeadline(closed, { clock: this.#options.clock, timeoutMs: closeMs });
  }

  #counted(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, done) => {
        this.#waiting -= spans.length;
        exporter.export(spans, (result) => {
          if (result.code === ExportResultCode.SUCCESS) this.#exported += spans.length;
          else this.#failed(spans.length, result.error);
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    };
  }

  #failed(count: number, error: Error | undefined): void {
    this.#dropped.export_failed += count;
    const { clock, log } = this.#options;
    const now = clock.monotonicMs();
    if (now - this.#complainedAt < complainEveryMs) return;
    this.#complainedAt = now;
    log.warn({ err: error?.message ?? "unknown", spans: count }, "spans could not be exported");
  }

  #readable(span: Span): ReadableSpan {
    const { traceId, startedAt, endedAt, error, parentSpanId } = span;
    const contextOf = (spanId: string, isRemote = false): SpanContext => ({
      traceId,
      spanId,
      traceFlags: TraceFlags.SAMPLED,
      isRemote,
      ...(span.state !== null && { traceState: new TraceState(span.state) }),
    });
    const context = contextOf(span.spanId);
    return {
      name: span.name,
      kind: span.kind === "client" ? SpanKind.CLIENT : SpanKind.PRODUCER,
      spanContext: () => context,
      ...(parentSpanId !== null && { parentSpanContext: contextOf(parentSpanId, span.isParentRemote) }),
      startTime: timeOf(startedAt),
      endTime: timeOf(endedAt),
      duration: timeOf(endedAt - startedAt),
      status:
        error === null ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error },
      attributes: { ...span.attributes },
      links: span.links.map(({ spanId, relation }) => ({
        context: contextOf(spanId),
        attributes: { "posthorn.relation": relation },
      })),
      events: [],
      ended: true,
      resource: this.#resource,
      instrumentationScope: this.#scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

/** A time as seconds and nanoseconds. */
function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
}
