/**
 * Addresses of inbound webhooks: `/_webhooks/{party}/{namespace}/v{version}/{event_type}/…`.
 *
 * Only `party` is required. A namespace and an event type have the same form, so a path without a version is ambiguous.
 * It is interpreted as follows: with a version, the segment between party and version is the namespace. Without one,
 * there is no namespace, unless the word `callback` ends the path. If that is not sufficient, use a version or declare namespaces.
 */
import { pathOf } from "./message/message.ts";

/** The parts of an address. Omitted parts are null or empty. */
export interface WebhookPath {
  /** Name of the producer, such as `transactify`. */
  readonly party: string;
  /** One of several services of the party. */
  readonly namespace: string | null;
  /** Without the `v`: `3`, or a label such as `latest`. */
  readonly version: string | null;
  /** `transaction-initiated`, or `callback` for all types. */
  readonly eventType: string | null;
  /** The remaining segments, such as resource identifiers. */
  readonly rest: readonly string[];
}

/** Why a path is refused. */
const webhookPathProblems = [
  "outside_prefix",
  "missing_party",
  "empty_segment",
  "unsafe_segment",
  "bad_encoding",
  "too_long",
  "bad_version",
  "ambiguous",
] as const;
export type WebhookPathProblem = (typeof webhookPathProblems)[number];

/** Thrown by {@link buildWebhookPath} if the parts do not form an address. */
export class WebhookPathError extends Error {
  override readonly name = "WebhookPathError";
  readonly code: WebhookPathProblem;

  constructor(code: WebhookPathProblem, message: string) {
    super(message);
    this.code = code;
  }
}

/** An address, or why it is invalid. Respond with 404 to an invalid address. */
export type ParsedWebhookPath =
  | { readonly kind: "path"; readonly path: WebhookPath }
  | { readonly kind: "invalid"; readonly problem: WebhookPathProblem };

export interface WebhookPathOptions {
  /** First segment, which distinguishes webhooks from the service's other APIs. Defaults to `/_webhooks`. */
  readonly prefix?: string | undefined;
  /** Words that are versions without a `v`. Defaults to `latest` and `next`. */
  readonly versionLabels?: readonly string[] | undefined;
  /** Words that are namespaces even if no version follows. Empty by default. */
  readonly namespaces?: readonly string[] | undefined;
}

const prefixDefault = "/_webhooks";
const versionLabelsDefault = ["latest", "next"];
const pathLengthMax = 2_048;
/** Including authority and query. */
const addressLengthMax = 16_384;
const segmentsMax = 32;
const segmentLengthMax = 256;

/** `v3`, `v2.1`, `v2024-06-01`: requiring a digit keeps `vat-changed` an event type. */
const numberedVersion = /^v(\d[A-Za-z0-9._-]*)$/;

/** Parses a path or an absolute address; the query is ignored. Never throws, regardless of the input. */
export function parseWebhookPath(address: string, options: WebhookPathOptions = {}): ParsedWebhookPath {
  const prefix = options.prefix ?? prefixDefault;
  if (address.length > addressLengthMax) return invalid("too_long");
  const pathname = pathOf(address);
  if (pathname.length > pathLengthMax) return invalid("too_long");
  if (pathname !== prefix && !pathname.startsWith(`${prefix}/`)) return invalid("outside_prefix");
  const raw = pathname.slice(prefix.length + 1).split("/", segmentsMax + 2);
  // Many producers add a trailing slash.
  if (raw.at(-1) === "") raw.pop();
  if (raw.length === 0) return invalid("missing_party");
  if (raw.length > segmentsMax) return invalid("too_long");
  const segments: string[] = [];
  for (const text of raw) {
    const decoded = decode(text);
    if (decoded === null) return invalid("bad_encoding");
    const problem = problemOfSegment(decoded);
    if (problem !== null) return invalid(problem);
    segments.push(decoded);
  }
  return { kind: "path", path: arrange(segments, options) };
}

/** Assigns the segments to parts. The first is the party. */
function arrange(segments: readonly string[], options: WebhookPathOptions): WebhookPath {
  const [party = "", second, third] = segments;
  const [, ...after] = segments;
  const first = versionOf(second, options);
  if (first !== null) return { party, namespace: null, version: first, ...typeAndRest(after.slice(1)) };
  const later = versionOf(third, options);
  if (second !== undefined && later !== null)
    return { party, namespace: second, version: later, ...typeAndRest(after.slice(2)) };
  const isNamespace =
    second !== undefined && (third === "callback" || options.namespaces?.includes(second) === true);
  if (isNamespace && second !== "callback")
    return { party, namespace: second, version: null, ...typeAndRest(after.slice(1)) };
  return { party, namespace: null, version: null, ...typeAndRest(after) };
}

function typeAndRest(segments: readonly string[]): Pick<WebhookPath, "eventType" | "rest"> {
  const [eventType = null, ...rest] = segments;
  return { eventType, rest };
}

function versionOf(segment: string | undefined, options: WebhookPathOptions): string | null {
  if (segment === undefined) return null;
  const labels = options.versionLabels ?? versionLabelsDefault;
  if (labels.includes(segment)) return segment;
  return numberedVersion.exec(segment)?.[1] ?? null;
}

/** Parts of an address; absent is the same as null. Versions `3` and `v3` are the same. */
export interface WebhookPathParts {
  readonly party: string;
  readonly namespace?: string | null | undefined;
  readonly version?: string | number | null | undefined;
  readonly eventType?: string | null | undefined;
  readonly rest?: readonly string[] | undefined;
}

/** Builds a path that {@link parseWebhookPath} parses to the same parts. Throws {@link WebhookPathError}. */
export function buildWebhookPath(parts: WebhookPathParts, options: WebhookPathOptions = {}): string {
  if (parts.party === undefined || parts.party === "")
    throw new WebhookPathError("missing_party", "an address needs the name of its party");
  const segments = [
    parts.party,
    ...present(parts.namespace),
    ...present(versionSegment(parts.version, options)),
    ...present(parts.eventType),
    ...(parts.rest ?? []),
  ];
  for (const segment of segments) {
    const problem = problemOfSegment(segment);
    if (problem !== null)
      throw new WebhookPathError(problem, "a part is empty, too long or not safe in a path");
  }
  const path = [options.prefix ?? prefixDefault, ...segments.map(encodeURIComponent)].join("/");
  if (path.length > pathLengthMax || segments.length > segmentsMax)
    throw new WebhookPathError("too_long", `an address must not exceed ${pathLengthMax} characters`);
  if (!readsBack(parseWebhookPath(path, options), parts))
    throw new WebhookPathError(
      "ambiguous",
      "the address would be parsed into different parts; specify a version",
    );
  return path;
}

function readsBack(parsed: ParsedWebhookPath, parts: WebhookPathParts): boolean {
  if (parsed.kind === "invalid") return false;
  const { namespace, version, eventType, rest } = parsed.path;
  return (
    namespace === (parts.namespace ?? null) &&
    (version === null) === ((parts.version ?? null) === null) &&
    eventType === (parts.eventType ?? null) &&
    rest.length === (parts.rest ?? []).length
  );
}

function present(part: string | null | undefined): readonly string[] {
  return part === null || part === undefined ? [] : [part];
}

function versionSegment(
  version: string | number | null | undefined,
  options: WebhookPathOptions,
): string | null {
  if (version === null || version === undefined) return null;
  const text = String(version);
  const segment = /^\d/.test(text) ? `v${text}` : text;
  if (versionOf(segment, options) !== null) return segment;
  throw new WebhookPathError("bad_version", "a version must begin with a digit, or be one of versionLabels");
}

function decode(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

/** Dots, slashes and control characters would have a different meaning when the part is used in a path or file name. */
function problemOfSegment(segment: string): WebhookPathProblem | null {
  if (segment === "") return "empty_segment";
  if (segment.length > segmentLengthMax) return "too_long";
  // Some servers remove path parameters (`..;x=1`) before they resolve dots.
  const isUnsafe =
    /^\s*\.{1,2}\s*(?:;|$)/.test(segment) || /[/\\%\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(segment);
  return isUnsafe ? "unsafe_segment" : null;
}

function invalid(problem: WebhookPathProblem): ParsedWebhookPath {
  return { kind: "invalid", problem };
}
