import { messageOf } from "../domain/thrown.ts";
import type { OverloadRules, RateLimit } from "./admission.ts";
import type { DeduplicationStore, InTransaction } from "./deduplication.ts";
import type { MessageHandler, StatusOverrides } from "./answers.ts";
import type { HandshakeOptions } from "./handshake.ts";
import type { Inbox } from "./inbox/inbox.ts";
import type { KeySource } from "./message/message-key.ts";
import type {
  MessageVerifier,
  ReceivedMessage,
  RejectionCause,
  Verification,
  VerifiedMessage,
} from "./message/message.ts";
import { misconfigured } from "./receiver-error.ts";

/**
 * An incident that honest senders do not cause: a message that is not authentic, a message outside the tolerance for
 * timestamps, or a known key with a different body. Contains no secret and no part of a body.
 */
export interface SecurityIncident {
  readonly kind: "bad_signature" | "stale_timestamp" | "key_reused";
  /** One-sentence message for the log. */
  readonly detail: string;
  /** Result of the verifier; null if the signature was valid. */
  readonly cause: RejectionCause | null;
  /** Null if no sender was authenticated. */
  readonly producer: string | null;
  /** Only verified ids. */
  readonly messageId: string | null;
  readonly occurredAt: Date;
}

/** The incident for a rejected message. */
export function rejectionIncident(
  rejection: Extract<Verification, { readonly kind: "rejected" }>,
  occurredAt: Date,
): SecurityIncident {
  const { cause, detail } = rejection;
  const isStale = cause === "too_old" || cause === "too_new";
  const kind = isStale ? "stale_timestamp" : "bad_signature";
  return { kind, detail, cause, producer: null, messageId: null, occurredAt };
}

export interface IncidentReport {
  /** URL of the form `https://posthorn.example/v1/webhooks/{id}/incidents`. */
  readonly url: string;
  /** Sent as `Authorization: Bearer`; an API key of the tenant. */
  readonly apiKey?: string;
  readonly incident: Pick<SecurityIncident, "kind" | "detail" | "messageId" | "occurredAt">;
  /** Timeout in milliseconds; defaults to 10,000. */
  readonly timeoutMs?: number;
  /** Defaults to the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * Reports an incident to the sender, as JSON `{kind, detail, message_id, occurred_at}`. Never throws, because no other
 * step depends on it. Attackers can cause incidents at will, so do not report every incident.
 */
export async function reportIncident(
  report: IncidentReport,
): Promise<{ readonly kind: "reported" } | { readonly kind: "failed"; readonly detail: string }> {
  const { url, apiKey, incident, timeoutMs = 10_000, fetch = globalThis.fetch } = report;
  try {
    const response = await fetch(url, {
      method: "POST",
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        "content-type": "application/json",
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({
        kind: incident.kind,
        detail: incident.detail,
        message_id: incident.messageId,
        occurred_at: incident.occurredAt.toISOString(),
      }),
    });
    await response.body?.cancel();
    if (response.ok) return { kind: "reported" };
    return { kind: "failed", detail: `the sender responded with ${response.status}` };
  } catch (error) {
    return { kind: "failed", detail: messageOf(error) };
  }
}

/** Options of an endpoint. Only `verifier`, `deduplication`, and `handler` or `inbox` are required. */
export interface ReceiverOptions<Transaction = undefined> {
  /** Verifies the message before anything else uses it. It is always required. */
  readonly verifier: MessageVerifier;
  /**
   * Processes the message before the response is sent. Set either this or `inbox`; use the inbox for everything that
   * takes longer than a second.
   */
  readonly handler?: MessageHandler<Transaction>;
  /** Stores the message, responds with 202, and processes it later. */
  readonly inbox?: Inbox;
  /**
   * Set to false only if handling a message twice is harmless. The signed timestamp is then the only protection against
   * replays.
   */
  readonly deduplication: DeduplicationOptions<Transaction> | false;
  /**
   * Maximum difference between a signed timestamp and now, in the past or future, in seconds; defaults to 300. Null
   * disables the check.
   */
  readonly toleranceSeconds?: number | null;
  /**
   * Called after verification: returns whether this producer may send this message here. If false, the response is 403.
   */
  readonly authorize?: (received: VerifiedMessage) => boolean | Promise<boolean>;
  /**
   * Time limit for the response, in milliseconds; defaults to 10,000. If a handler exceeds it, the handler continues
   * and the sender gets 503 with `Retry-After`. A repeated message then gets 409 while the handler runs, and later the
   * handler's response. If the message was stored in the inbox, the sender gets 202.
   */
  readonly budgetMs?: number;
  /** Size limit of the body; defaults to 1 MiB. Larger bodies get 413. */
  readonly bodyBytesMax?: number;
  /** Defaults to JSON: `application/json` and `application/*+json`. `any` accepts every type. */
  readonly contentTypes?: readonly string[] | "any";
  /**
   * Returns whether this endpoint serves a path; by default, it serves every path that reaches it. Other paths get 404.
   */
  readonly isServed?: (path: string) => boolean;
  /**
   * Deduplication scope in addition to the producer. Defaults to the path of the message, in lower case and without
   * redundant slashes. Set a name if more than one path leads here, for example a route with a wildcard or a server
   * without routes: most schemes do not sign the path, so a captured message could be replayed to each path.
   */
  readonly endpoint?: string;
  /** Answers OPTIONS with the permission handshake of CloudEvents. Without it, OPTIONS gets 405. */
  readonly handshake?: HandshakeOptions;
  /**
   * If true, echoes the challenge that Posthorn sends at registration (`verify_url`). The challenge is not signed, so
   * anyone who sends one learns that deliveries are wanted here; enable this only while a webhook is being registered.
   */
  readonly echoesChallenges?: boolean;
  /** Rate limit per producer; further requests get 429. */
  readonly rateLimit?: RateLimit;
  /** Requests get 503 while the receiver is overloaded. */
  readonly overload?: OverloadRules;
  /** If true, adds `WWW-Authenticate: Bearer` to every 401, not only to those about a wrong token. */
  readonly expectsBearerToken?: boolean;
  /** Statuses that the producer requires instead of the usual ones. */
  readonly statuses?: StatusOverrides;
  /** Page with your rules for keys. Defaults to the page of this package. */
  readonly documentationUrl?: string;
  /** `Retry-After` in seconds if no specific value is available; defaults to 30. */
  readonly retryAfterSeconds?: number;
  /** Called for each incident. Log it, and optionally report it to the sender with `reportIncident`. */
  readonly onSecurityIncident?: (incident: SecurityIncident, message: ReceivedMessage) => void;
  /** Called for every 5xx response, and for errors after the response. No action by default. */
  readonly onError?: (error: unknown) => void;
  /** Current time in Unix milliseconds; defaults to `Date.now`. */
  readonly now?: () => number;
}

/**
 * How repeated messages are recognised: by the {@link
 * https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-06 | Idempotency-Key header} or the
 * message id. Deduplication is also one of two protections against replays that {@link
 * https://datatracker.ietf.org/doc/html/draft-mayankpanke-event-delivery-semantics-01#section-11.5 | Event Delivery
 * Semantics, section 11.5}, requires; the other is a signed timestamp.
 */
export interface DeduplicationOptions<Transaction = undefined> {
  /** Set either this or `inTransaction`. */
  readonly store?: DeduplicationStore;
  /** Runs claim, handler and result in one of your transactions: `sqliteTransactions`, `postgresTransactions`. */
  readonly inTransaction?: InTransaction<Transaction>;
  /**
   * How long a completed message is kept; defaults to 7 days, which is longer than senders retry. Must be more than
   * twice the tolerance, because a message may be dated that far ahead when it first arrives.
   */
  readonly retentionMs?: number;
  /**
   * Must be longer than any handler runs; defaults to 5 minutes. After this time a claim is treated as abandoned by a
   * crashed process.
   */
  readonly claimMs?: number;
  /** Defaults to the `Idempotency-Key` header or, if it is missing, to the signed message id. */
  readonly keySources?: readonly KeySource[];
  /** Other header names for the key, such as `X-Idempotency-Key`. None by default. */
  readonly keyHeaderAliases?: readonly string[];
  /** Defaults to `lenient`, which accepts bare values as well as quoted strings. */
  readonly keySyntax?: "strict" | "lenient";
  /** Validates your own format for keys; other keys get 400. */
  readonly isAcceptableKey?: (key: string) => boolean;
  /**
   * Whether a key is required. Defaults to true: a message without a key is rejected with 400. If false, it is accepted
   * if its timestamp is signed.
   */
  readonly isKeyRequired?: boolean;
  /** The content that is compared between messages with the same key; defaults to the body. */
  readonly fingerprintOf?: (message: ReceivedMessage) => Uint8Array;
}

const dayMs = 86_400_000;
const durationMsMax = 36_500 * dayMs;

/** Validates the options and adds defaults. Throws ReceiverError `misconfigured`. */
export function resolveOptions<Transaction>(options: ReceiverOptions<Transaction>) {
  checkRequired(options);
  const { toleranceSeconds = 300, budgetMs = 10_000, deduplication } = options;
  const resolved = {
    bodyBytesMax: 1_048_576,
    isServed: () => true,
    documentationUrl: "https://www.npmjs.com/package/@posthorn/receiver",
    retryAfterSeconds: 30,
    statuses: {},
    now: Date.now,
    ...withoutUndefined(options),
    toleranceSeconds,
    budgetMs,
    contentTypes: options.contentTypes === "any" ? null : (options.contentTypes ?? jsonTypes),
    deduplication: deduplication === false ? null : withDefaults(deduplication),
  };
  if ((options.handler === undefined) === (options.inbox === undefined)) {
    throw misconfigured("set either a handler or an inbox");
  }
  if (resolved.deduplication === null && toleranceSeconds === null) {
    // Without either, replays cannot be detected.
    throw misconfigured(
      "without deduplication and without a tolerance, replayed messages cannot be detected",
    );
  }
  checkRange(resolved);
  checkStatuses(resolved.statuses);
  if (resolved.deduplication !== null)
    checkTimes(
      resolved.deduplication.retentionMs,
      resolved.deduplication.claimMs,
      toleranceSeconds,
      budgetMs,
    );
  if (options.inbox !== undefined && resolved.deduplication?.inTransaction !== undefined) {
    throw misconfigured("an inbox cannot be used with inTransaction; give deduplication a store");
  }
  return resolved;
}

/** The compiler checks this in TypeScript; in JavaScript these are common beginner's mistakes. */
function checkRequired(given: unknown): void {
  const { verifier, deduplication } = (given ?? {}) as Readonly<Record<string, unknown>>;
  if (!hasMethod(verifier, "verify"))
    throw misconfigured("verifier is missing or not a verifier; create one with standardWebhooks({ keys })");
  if (deduplication === undefined || deduplication === null || deduplication === true)
    throw misconfigured(
      "deduplication is missing; use { store: createMemoryDeduplicationStore() } for a single process, or false for " +
        "handlers that may safely process a message twice",
    );
  const { store } = deduplication as { readonly store?: unknown };
  if (store !== undefined && !hasMethod(store, "claim"))
    throw misconfigured(
      "deduplication.store is not a store; create one with createMemoryDeduplicationStore()",
    );
}

function hasMethod(value: unknown, name: string): boolean {
  return typeof (value as Readonly<Record<string, unknown>> | null | undefined)?.[name] === "function";
}

export type ResolvedOptions<Transaction> = ReturnType<typeof resolveOptions<Transaction>>;

const jsonTypes = ["application/json", "application/*+json"];

function withDefaults<Transaction>(options: DeduplicationOptions<Transaction>) {
  if ((options.store === undefined) === (options.inTransaction === undefined)) {
    throw misconfigured("give deduplication either a store or inTransaction");
  }
  return {
    retentionMs: 7 * dayMs,
    claimMs: 300_000,
    keySources: ["idempotency-key", "message-id"] as readonly KeySource[],
    keyHeaderAliases: [] as readonly string[],
    keySyntax: "lenient" as const,
    isAcceptableKey: () => true,
    isKeyRequired: true,
    fingerprintOf: ({ body }: ReceivedMessage) => body,
    ...withoutUndefined(options),
  };
}

function checkTimes(
  retentionMs: number,
  claimMs: number,
  toleranceSeconds: number | null,
  budgetMs: number,
): void {
  // A database would refuse larger numbers, so the claim would expire, and with it the record of the message.
  for (const [name, value] of Object.entries({ retentionMs, claimMs })) {
    if (Number.isInteger(value) && value <= durationMsMax) continue;
    throw misconfigured(`${name} must be a whole number of milliseconds, up to a hundred years`);
  }
  const replayableMs = 2_000 * (toleranceSeconds ?? 0);
  if (!(retentionMs > replayableMs)) {
    const detail = `retentionMs must be more than ${replayableMs}, twice the tolerance for timestamps`;
    throw misconfigured(detail);
  }
  if (!(claimMs > budgetMs)) throw misconfigured("claimMs must be more than budgetMs");
}

type Ranged = "budgetMs" | "bodyBytesMax" | "retryAfterSeconds" | "toleranceSeconds";

function checkRange(values: Readonly<Record<Ranged, number | null>>): void {
  for (const name of ["budgetMs", "bodyBytesMax", "retryAfterSeconds", "toleranceSeconds"] as const) {
    const value = values[name];
    // Maximum delay of a timer, in ms.
    if (value !== null && !(value >= 1 && value <= 2_147_483_647)) {
      throw misconfigured(`${name} must be a number from 1 to 2147483647`);
    }
  }
}

/** An override must not be a redirect, an interim response, or an invalid status. */
function checkStatuses(statuses: StatusOverrides): void {
  for (const [situation, status] of Object.entries(statuses)) {
    const isSuccess = Number.isInteger(status) && status >= 200 && status <= 299;
    const isError = Number.isInteger(status) && status >= 400 && status <= 599;
    if (!isSuccess && !isError) throw misconfigured(`statuses.${situation} must be 2xx, 4xx or 5xx`);
  }
}

/** Undefined means the default, even if it is passed explicitly. */
function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
