import type { AttemptObservation } from "../../domain/classify.ts";
import { tryParseJson } from "../../domain/json/json-text.ts";
import type { SecretBox } from "../../ports/secret-box.ts";
import { verifierFromConfiguration, withSecrets } from "../../receiver/configured/configured-verifier.ts";
import type { SourceVerifier } from "../../receiver/configured/source-verifier.ts";
import type { Connection } from "../../resources/connection.ts";
import type { StoredOf } from "../../resources/field.ts";
import type { sourceFields } from "../../resources/source.ts";

export type { Connection };

/** A way to verify the messages of a source, as `GET /v1/source-types` describes it to forms and readers. */
export interface SourceType {
  /** The value of `verification.type`. */
  readonly type: string;
  readonly title: string;
  readonly fields: readonly SourceTypeField[];
  /** Null if it does not belong to a provider, such as `hmac`. */
  readonly provider: SourceProvider | null;
}

interface SourceTypeField {
  readonly name: string;
  readonly kind: "text" | "texts" | "number" | "choice" | "verifiers";
  readonly isRequired: boolean;
  /** Encrypted when stored and masked when shown. */
  readonly isSecret: boolean;
  /** Empty unless `kind` is `choice`. */
  readonly choices: readonly string[];
  readonly description: string;
}

interface SourceProvider {
  readonly documentation: string;
  /** What to do at the provider. `{url}` is a placeholder for the address of the source, `{secret}` for its secret. */
  readonly steps: readonly string[];
  readonly remarks: readonly string[];
  readonly signature: string;
  readonly signed: string;
  readonly replayProtection: string;
  /** Forwarded to destinations. */
  readonly forwardHeaders: readonly string[];
  /** How the provider checks the address before it uses it. */
  readonly addressCheck: "get" | "head" | "post" | null;
}

// Configuration of the gateway. Times are Unix milliseconds.

/**
 * When the sender gets its response: after the destination accepted, or once the message is stored (EDS-9.7-6, 9.7-7).
 */
export const gatewayModes = ["pass_through", "store_and_forward"] as const;
export type GatewayMode = (typeof gatewayModes)[number];

/** What senders get while a source is disabled: retry later, or never again. */
export const inactiveAnswers = ["unavailable", "gone"] as const;

/** Where a message contains its event type; exactly one is set. */
export interface EventTypeSource {
  readonly fixed?: string;
  readonly header?: string;
  readonly pointer?: string;
  readonly query?: string;
  /** The part of `/_webhooks/{party}/…` that names the type. */
  readonly path?: boolean;
  /** Accept a value that the signature does not cover. */
  readonly allowUnsigned?: boolean;
}

/** Exceptions of a source from the table in upstream-status.ts: maps `404`, `timeout` or `not_reached` to a status. */
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

/** Records that the senders of a source know what store and forward means (EDS-9.7-6). */
interface Acknowledgement {
  readonly by: string;
  readonly at: number;
  /** Version of the acknowledged service description. */
  readonly version: string;
}

/** Stored as given. */
type PlainSettings = Omit<StoredOf<typeof sourceFields>, "verification" | "eventType" | "statusOverrides">;

/** An address that a sender sends to. */
export interface Source extends PlainSettings {
  readonly id: string;
  /** Newest first. */
  readonly tokens: readonly SourceToken[];
  /** JSON of the verification with its secrets, sealed, base64. */
  readonly verification: string;
  readonly acknowledgement: Acknowledgement | null;
  readonly eventType: EventTypeSource | null;
  readonly statusOverrides: StatusOverrides;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Whether new messages wait: during a pause, or behind held messages that are still being sent after one. */
export function isHolding({ pausedAt, releasingSince }: Connection): boolean {
  return pausedAt !== null || releasingSince !== null;
}

export const sourceDefaults = {
  budgetMs: 10_000,
  dedupWindowMs: 7 * 86_400_000,
} as const;

// Which status a sender gets for the destination's response, as data. Never a redirect, never a success for a message
// that was not accepted, and none of the destination's own guidance (EDS-9.7-3).

interface UpstreamRule {
  /** Statuses of the destination. */
  readonly statuses: readonly number[];
  /** Null passes the destination's status on. */
  readonly upstream: number | null;
}

const hundred = (from: number): readonly number[] => Array.from({ length: 100 }, (_, index) => from + index);

/** The first rule with the status applies; a status in no rule becomes `otherUpstream`. */
export const upstreamRules: readonly UpstreamRule[] = [
  { statuses: [207], upstream: 502 },
  { statuses: hundred(200), upstream: null },
  // Faults of the message: only its sender can fix them.
  { statuses: [400, 413, 414, 415, 422, 431], upstream: null },
  // Transient failures.
  { statuses: [408, 409, 421, 425, 429, ...hundred(500)], upstream: 503 },
];

/** 1xx, 3xx, and statuses that show a wrong setup of this deployment: 401, 403, 404, 405, 410 and the like. */
const otherUpstream = 502;

/** Table rows without a status of the destination. `timeout` includes truncated responses: the outcome is unknown. */
const rowsWithoutStatus = { timeout: 504, not_reached: 502, oversized: 502 } as const;
type RowWithoutStatus = keyof typeof rowsWithoutStatus;

/** What the sender may learn of one attempt. */
interface SeenAttempt {
  readonly observation: AttemptObservation;
  /** By the classification of the destination's profile, which may accept a 207 by agreement. */
  readonly isAccepted: boolean;
  /** The response was longer than the limit for forwarding. */
  readonly isOversized: boolean;
}

/** Overrides that a source may set: a success for a success, an error for anything else, never a redirect. */
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
  // A response that the profile does not accept is not a success, whatever its status.
  return upstream < 300 ? otherUpstream : upstream;
}

/** Placeholder for a secret. */
const masked = "…";

/** Seals verifier configurations, and creates verifiers from them, once per saved source. */
export class VerificationBox {
  readonly #secretBox: SecretBox;
  readonly #verifiers = new WeakMap<Source, SourceVerifier>();

  constructor(secretBox: SecretBox) {
    this.#secretBox = secretBox;
  }

  seal({ id }: Pick<Source, "id">, plaintext: string): string {
    return Buffer.from(this.#secretBox.seal(plaintext, contextOf(id))).toString("base64");
  }

  open({ id }: Pick<Source, "id">, sealed: string): string {
    const ciphertext = Buffer.from(sealed, "base64");
    return this.#secretBox.open(ciphertext, contextOf(id));
  }

  shown(source: Source): Readonly<Record<string, unknown>> {
    return withSecrets(this.#configuration(source), () => masked) as Readonly<Record<string, unknown>>;
  }

  /** Throws if the configuration cannot be read or used (any more); then all messages are rejected. */
  verifier(source: Source): SourceVerifier {
    const known = this.#verifiers.get(source);
    if (known !== undefined) return known;
    const made = verifierFromConfiguration(this.#configuration(source));
    if (made.kind === "invalid") throw new Error(`the verification of source ${source.id} cannot be used`);
    this.#verifiers.set(source, made.source);
    return made.source;
  }

  #configuration(source: Source): unknown {
    return tryParseJson(this.open(source, source.verification));
  }
}

function contextOf(id: string): string {
  return `gateway source ${id}`;
}
