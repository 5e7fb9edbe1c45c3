/** A finished span for export. Times are Unix milliseconds. */
export interface Span {
  readonly name: "posthorn.publish" | "posthorn.deliver";
  readonly kind: "producer" | "client";
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  /** The parent ran in another process. */
  readonly isParentRemote: boolean;
  readonly state: string | null;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly links: readonly SpanLink[];
  /** Why it failed, in one line; null for success. */
  readonly error: string | null;
}

/** A link to another span of the same trace. */
export interface SpanLink {
  readonly spanId: string;
  /** How the linked span relates to this one. */
  readonly relation: "publish" | "earlier_attempt";
}
