import type { AttemptObservation } from "../../domain/classify.ts";

import type { Connection } from "../../resources/connection.ts";
import type { StoredOf } from "../../resources/field.ts";
import type { sourceFields } from "../../resources/source.ts";

export type { Connection };

/** A way to verify the messages of a source, as `GET /v1/source-types` describes it for forms and for people. */
export interface SourceType {
  /** The value of `verification.type`. */
  readonly type: string;
  readonly title: string;
  readonly fields: readonly SourceTypeField[];
  /** Null if the type does not belong to a provider, such as `hmac`. */
  readonly provider: SourceProvider | null;
}

interface SourceTypeField {
  readonly name: string;
  readonly kind: "text" | "texts" | "number" | "choice" | "verifiers";
  readonly isRequired: boolean;
  /** The value is encrypted when stored and masked when shown. */
  readonly isSecret: boolean;
  /** Empty unless `kind` is `choice`. */
  readonly choices: readonly string[];
  readonly description: string;
}

interface SourceProvider {
  readonly documentation: string;
  /** What to do at the provider. `{url}` is a placeholder for the source's address, `{secret}` for its secret. */
  readonly steps: readonly string[];
  readonly remarks: readonly string[];
  readonly signature: string;
  readonly signed: string;
  readonly replayProtection: string;
  /** Headers whose values are forwarded to destinations. */
  readonly forwardHeaders: readonly string[];
  /** How the provider checks the address before using it. */
  readonly addressCheck: "get" | "head" | "post" | null;
}

// Configuration of the gateway. Times are Unix milliseconds.

/**
 * When the sender gets its response: after the destination accepted, or once the message is stored (EDS-9.7-6, 9.7-7).
 */
export const gatewayModes = ["pass_through", "store_and_forward"] as const;
export type GatewayMode = (typeof gatewayModes)[number];

/** The response to senders while a source is disabled: retry later, or never retry. */
export const inactiveAnswers = ["unavailable", "gone"] as const;

/** Where a message contains its event type; exactly one is set. */
export interface EventTypeSource {
  readonly fixed?: string;
  readonly header?: string;
  readonly pointer?: string;
  readonly query?: string;
  /** Takes the type from the part of `/_webhooks/{party}/…` that names it. */
  readonly path?: boolean;
  /** Accept a value that is not covered by the signature. */
  readonly allowUnsigned?: boolean;
}

/** A source's exceptions to `upstreamRules`: maps `404`, `timeout` or `not_reached` to a status. */
export type StatusOverrides = Readonly<Record<string, number>>;

/** A secret address: a hash for comparison, and a sealed form that can be shown again. */
export interface SourceToken {
  /** SHA-256, hexadecimal. */
  readonly hash: string;
  /** Sealed, base64. */
  readonly sealed: string;
  /** Set on the old token of a rotation. */
  readonly expiresAt: number | null;
}

/** Records that the people who run a source's senders understand store and forward (EDS-9.7-6). */
interface Acknowledgement {
  readonly by: string;
  readonly at: number;
  /** Version of the acknowledged service description. */
  readonly version: string;
}

/** Stored as given. */
type PlainSettings = Omit<StoredOf<typeof sourceFields>, "verification" | "eventType" | "statusOverrides">;

/** An address to which a sender sends messages. */
export interface Source extends PlainSettings {
  readonly id: string;
  /** Newest first. */
  readonly tokens: readonly SourceToken[];
  /** The verification with its secrets as sealed JSON, in base64. */
  readonly verification: string;
  readonly acknowledgement: Acknowledgement | null;
  readonly eventType: EventTypeSource | null;
  readonly statusOverrides: StatusOverrides;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Whether new messages are held: during a pause, or while messages held in a pause are still being sent. */
export function isHolding({ pausedAt, releasingSince }: Connection): boolean {
  return pausedAt !== null || releasingSince !== null;
}

export const sourceDefaults = {
  budgetMs: 10_000,
  dedupWindowMs: 7 * 86_400_000,
} as const;

// A table that maps the destination's status to the status that the sender gets. This status is never a redirect, and
// never a success for a message that was not accepted. The response contains none of the destination's own guidance
// (EDS-9.7-3).

interface UpstreamRule {
  /** Statuses of the destination. */
  readonly statuses: readonly number[];
  /** Null passes the destination's status on. */
  readonly upstream: number | null;
}

const hundred = (from: number): readonly number[] => Array.from({ length: 100 }, (_, index) => from + index);

/** The first rule that contains the status applies; a status in no rule becomes `otherUpstream`. */
export const upstreamRules: readonly UpstreamRule[] = [
  { statuses: [207], upstream: 502 },
  { statuses: hundred(200), upstream: null },
  // The message is faulty; only its sender can fix it.
  { statuses: [400, 413, 414, 415, 422, 431], upstream: null },
  // Transient failures.
  { statuses: [408, 409, 421, 425, 429, ...hundred(500)], upstream: 503 },
];

/**
 * 1xx, 3xx, and statuses that indicate an incorrect setup of this deployment: 401, 403, 404, 405, 410 and similar ones.
 */
const otherUpstream = 502;

/**
 * Table rows for outcomes without a status from the destination. `timeout` includes truncated responses, whose outcome
 * is unknown.
 */
const rowsWithoutStatus = { timeout: 504, not_reached: 502, oversized: 502 } as const;
type RowWithoutStatus = keyof typeof rowsWithoutStatus;

/** What the sender may learn about one attempt. */
interface SeenAttempt {
  readonly observation: AttemptObservation;
  /** Whether the destination's profile classifies the response as accepted. A profile may accept a 207 by agreement. */
  readonly isAccepted: boolean;
  /** Whether the response was longer than the limit for forwarding. */
  readonly isOversized: boolean;
}

/**
 * Whether a source may set this override. A success may be mapped only to a success, and anything else only to an
 * error, never to a redirect.
 */
export function isPossibleOverride(row: string, upstream: unknown): boolean {
  const isRow = /^[2-5]\d\d$/.test(row) || Object.hasOwn(rowsWithoutStatus, row);
  if (!isRow || typeof upstream !== "number" || !Number.isInteger(upstream)) return false;
  const [least, most] = row.startsWith("2") ? [200, 299] : [400, 599];
  return upstream >= least && upstream <= most;
}

export function upstreamStatus(seen: SeenAttempt, overrides: StatusOverrides = {}): number {
  const row = rowWithoutStatus(seen);
  if (row !== null) return overrides[row] ?? rowsWithoutStatus[row];
  const { observation, isAccepted } = seen;
  const status = observation.kind === "response" ? observation.status : 0;
  const own = overrides[status];
  if (own !== undefined && own < 300 === isAccepted) return own;
  return isAccepted ? status : refusedStatus(status);
}

function rowWithoutStatus({ observation, isOversized }: SeenAttempt): RowWithoutStatus | null {
  if (observation.kind === "failure") {
    const { category, requestSent } = observation;
    const isUnknown = category === "timeout" || (category === "network" && requestSent);
    return isUnknown ? "timeout" : "not_reached";
  }
  if (!observation.complete) return "timeout";
  return isOversized ? "oversized" : null;
}

function refusedStatus(status: number): number {
  const rule = upstreamRules.find(({ statuses }) => statuses.includes(status));
  const upstream = rule === undefined ? otherUpstream : (rule.upstream ?? status);
  // A response that the profile does not accept is never a success, regardless of its status.
  return upstream < 300 ? otherUpstream : upstream;
}
