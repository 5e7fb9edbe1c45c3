import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A span as a collector decodes it. */
export interface CollectedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly links: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly attributes: Readonly<Record<string, unknown>>;
  }[];
  readonly isError: boolean;
}

/** A collector that accepts OTLP over HTTP as JSON and decodes it according to the specification. */
export class TraceCollector {
  readonly #server = createServer((request, response) => {
    void text(request).then((body) => {
      this.paths.push(`${request.method} ${request.url}`);
      this.headers.push(request.headers);
      for (const span of spansIn(JSON.parse(body) as OtlpRequest)) this.spans.push(span);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  readonly spans: CollectedSpan[] = [];
  readonly paths: string[] = [];
  readonly headers: Record<string, unknown>[] = [];

  static async start(): Promise<TraceCollector> {
    const collector = new TraceCollector();
    await new Promise<void>((resolve) => collector.#server.listen(0, "127.0.0.1", resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface OtlpSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly Attribute[];
  readonly links?: readonly OtlpLink[];
  readonly status?: { readonly code?: number };
}

interface OtlpLink {
  readonly traceId: string;
  readonly spanId: string;
  readonly attributes?: readonly Attribute[];
}

/** The part of an ExportTraceServiceRequest that the collector reads. */
interface OtlpRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly Attribute[] };
    readonly scopeSpans?: readonly { readonly spans?: readonly OtlpSpan[] }[];
  }[];
}

function spansIn({ resourceSpans = [] }: OtlpRequest): readonly CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ spans = [] }) =>
      spans.map((span) => ({
        name: span.name,
        kind: span.kind,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId,
        startMs: millisecondsOf(span.startTimeUnixNano),
        endMs: millisecondsOf(span.endTimeUnixNano),
        attributes: attributesOf(span.attributes),
        resource: attributesOf(resource?.attributes),
        links: (span.links ?? []).map(linkOf),
        isError: span.status?.code === 2,
      })),
    ),
  );
}

function millisecondsOf(nanoseconds: string): number {
  return Number(BigInt(nanoseconds) / 1_000n) / 1_000;
}

function linkOf({ traceId, spanId, attributes }: OtlpLink): CollectedSpan["links"][number] {
  return { traceId, spanId, attributes: attributesOf(attributes) };
}

function attributesOf(list: readonly Attribute[] = []): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    list.map(({ key, value }) => {
      const [kind, raw] = Object.entries(value)[0] ?? [];
      return [key, kind === "intValue" ? Number(raw) : raw];
    }),
  );
}
