import type { OverloadRules, RateLimit } from "./admission.ts";
import type { DeduplicationStore, InTransaction } from "./deduplication-store.ts";
import type { MessageHandler } from "./handler-answer.ts";
import type { HandshakeOptions } from "./handshake.ts";
import type { Inbox } from "./inbox/inbox.ts";
import type { KeySource } from "./message/message-key.ts";
import type { MessageVerifier, ReceivedMessage } from "./message/message.ts";
import type { StatusOverrides } from "./receiver-answer.ts";
import { ReceiverError } from "./receiver-error.ts";
import type { SecurityIncident } from "./security-incident.ts";
import type { VerifiedMessage } from "./message/verified-message.ts";

/** One endpoint. Only `verifier`, `deduplication`, and `handler` or `inbox` have to be given. */
export interface ReceiverOptions<Transaction = undefined> {
  /** Runs before anything else looks at the message (TS16-55, EDS-11.3-1). There is no way without one. */
  readonly verifier: MessageVerifier;
  /**
   * Processes the message before it is answered. Give either this or `inbox`; the inbox is the better choice for
   * everything that takes longer than a second (TS16-15, WDS-218).
   */
  readonly handler?: MessageHandler<Transaction>;
  /** Keeps the message, answers 202, and processes it later. */
  readonly inbox?: Inbox;
  /** False only where handling a message twice does no harm; the signed time is then checked alone (EDS-11.5-4). */
  readonly deduplication: DeduplicationOptions<Transaction> | false;
  /** How far a signed time may lie in the past or future; default 300 (TS16-82). Null does not look at it. */
  readonly toleranceSeconds?: number | null;
  /** After verification: may this producer send this here? False is answered 403 (TS16-20). */
  readonly authorize?: (received: VerifiedMessage) => boolean | Promise<boolean>;
  /**
   * Time until an answer is given, whatever happens; default 10,000 (TS16-14). A handler that is still running goes on:
   * the sender is told to come back (503 with `Retry-After`), and its repetition gets 409 while the handler runs and the
   * handler's answer afterwards. What is safe in the inbox is answered 202.
   */
  readonly budgetMs?: number;
  /** Default 1 MiB; more is answered 413. */
  readonly bodyBytesMax?: number;
  /** Default JSON: `application/json` and `application/*+json`. `any` takes everything. */
  readonly contentTypes?: readonly string[] | "any";
  /** Whether this endpoint serves a path; the default serves all that reach it. Anything else is 404 (TS16-21). */
  readonly isServed?: (path: string) => boolean;
  /**
   * What messages are remembered under beside their producer. Default: the path they came to, in lower case and without
   * needless slashes (EDS-9.4-5). Give a name where more than one path leads here, such as a route with a wildcard or a
   * server without routes: most schemes do not sign the path, and a captured message could be sent to each.
   */
  readonly endpoint?: string;
  /** Answers OPTIONS (CEW-4). Without it OPTIONS is 405. */
  readonly handshake?: HandshakeOptions;
  /**
   * True echoes the challenge with which Posthorn asks at registration (`verify_url`). It is not signed, so anybody who
   * asks learns that deliveries are wanted here; switch it on while a webhook is being registered.
   */
  readonly echoesChallenges?: boolean;
  /** 429 above it, for each producer apart. */
  readonly rateLimit?: RateLimit;
  /** 503 while there is too much to do. */
  readonly overload?: OverloadRules;
  /** True adds `WWW-Authenticate: Bearer` to every 401, and not only to those about a wrong token (C-25). */
  readonly expectsBearerToken?: boolean;
  /** Statuses that the producer demands instead of the usual ones (TS16-16). */
  readonly statuses?: StatusOverrides;
  /** Where your rules for keys are documented (IDK-13). Default: the page of this package. */
  readonly documentationUrl?: string;
  /** `Retry-After` where nothing better is known; default 30. */
  readonly retryAfterSeconds?: number;
  /** Log it (TS16-80), and perhaps tell the sender with `reportIncident`. */
  readonly onSecurityIncident?: (incident: SecurityIncident, message: ReceivedMessage) => void;
  /** Everything that is answered with 5xx, and what went wrong after the answer. Default: nothing is done. */
  readonly onError?: (error: unknown) => void;
  /** Unix ms; default `Date.now`. */
  readonly now?: () => number;
}

export interface DeduplicationOptions<Transaction = undefined> {
  /** Give either this or `inTransaction`. */
  readonly store?: DeduplicationStore;
  /** Runs claim, handler and result in a transaction of yours: `sqliteTransactions`, `postgresTransactions`. */
  readonly inTransaction?: InTransaction<Transaction>;
  /**
   * How long a completed message is remembered; default 7 days, which is longer than senders retry (C-23). More than
   * twice the tolerance, because a message may be dated that far ahead when it first comes (TS16-85).
   */
  readonly retentionMs?: number;
  /** Longer than any handler runs; default 5 minutes. After it a claim counts as left behind by a crash. */
  readonly claimMs?: number;
  /** Default: the `Idempotency-Key` header, else the signed message id. */
  readonly keySources?: readonly KeySource[];
  /** Other names under which senders give the key, such as `X-Idempotency-Key` (IDK-32). Default none. */
  readonly keyHeaderAliases?: readonly string[];
  /** Default `lenient`: bare values are taken as well as quoted strings (C-20). */
  readonly keySyntax?: "strict" | "lenient";
  /** Your own format for keys; others are answered 400 (IDK-28, IDK-29). */
  readonly isAcceptableKey?: (key: string) => boolean;
  /** Default true: a message without a key is answered 400 (IDK-21). False lets it through when its time is signed. */
  readonly isKeyRequired?: boolean;
  /** What has to be equal for two messages of one key to be the same; default the body (IDK-9). */
  readonly fingerprintOf?: (message: ReceivedMessage) => Uint8Array;
}

const dayMs = 86_400_000;
const durationMsMax = 36_500 * dayMs;

/** Options with defaults, checked. Throws ReceiverError `misconfigured`. */
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
    throw misconfigured("give either a handler or an inbox");
  }
  if (resolved.deduplication === null && toleranceSeconds === null) {
    // EDS-11.5-2
    throw misconfigured("without deduplication and without a tolerance nothing stops a replayed message");
  }
  checkRange(resolved);
  checkStatuses(resolved.statuses);
  if (resolved.deduplication !== null) checkTimes(resolved.deduplication, { toleranceSeconds, budgetMs });
  if (options.inbox !== undefined && resolved.deduplication?.inTransaction !== undefined) {
    throw misconfigured("an inbox is not filled inside a transaction; give deduplication a store");
  }
  return resolved;
}

/** What the compiler says in TypeScript: in JavaScript these are the mistakes of a first attempt. */
function checkRequired(given: unknown): void {
  const { verifier, deduplication } = (given ?? {}) as Readonly<Record<string, unknown>>;
  if (!hasMethod(verifier, "verify"))
    throw misconfigured("verifier is missing, or is none; standardWebhooks({ keys }) makes one");
  if (deduplication === undefined || deduplication === null || deduplication === true)
    throw misconfigured(
      "deduplication is missing; { store: createMemoryDeduplicationStore() } does for one process, and false is for " +
        "handlers that a repetition does not harm",
    );
  const { store } = deduplication as { readonly store?: unknown };
  if (store !== undefined && !hasMethod(store, "claim"))
    throw misconfigured("deduplication.store is no store; createMemoryDeduplicationStore() makes one");
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
  { retentionMs, claimMs }: { readonly retentionMs: number; readonly claimMs: number },
  { toleranceSeconds, budgetMs }: { readonly toleranceSeconds: number | null; readonly budgetMs: number },
): void {
  // A number that a database refuses would let the claim run out, and with it what is known of the message.
  for (const [name, value] of Object.entries({ retentionMs, claimMs })) {
    if (Number.isInteger(value) && value <= durationMsMax) continue;
    throw misconfigured(`${name} has to be a whole number of milliseconds, up to a hundred years`);
  }
  const replayableMs = 2_000 * (toleranceSeconds ?? 0);
  if (!(retentionMs > replayableMs)) {
    const detail = `retentionMs has to be more than ${replayableMs}, twice the tolerance for timestamps`;
    throw misconfigured(detail);
  }
  if (!(claimMs > budgetMs)) throw misconfigured("claimMs has to be more than budgetMs");
}

function checkRange(values: {
  readonly budgetMs: number;
  readonly bodyBytesMax: number;
  readonly retryAfterSeconds: number;
  readonly toleranceSeconds: number | null;
}): void {
  for (const name of ["budgetMs", "bodyBytesMax", "retryAfterSeconds", "toleranceSeconds"] as const) {
    const value = values[name];
    // The limit of timers, in ms.
    if (value !== null && !(value >= 1 && value <= 2_147_483_647)) {
      throw misconfigured(`${name} has to be a number from 1 to 2147483647`);
    }
  }
}

/** No override makes a redirect (CEW-2.2-2), an interim response, or a status that does not exist. */
function checkStatuses(statuses: StatusOverrides): void {
  for (const [situation, status] of Object.entries(statuses)) {
    const isSuccess = Number.isInteger(status) && status >= 200 && status <= 299;
    const isError = Number.isInteger(status) && status >= 400 && status <= 599;
    if (!isSuccess && !isError) throw misconfigured(`statuses.${situation} is neither 2xx, 4xx nor 5xx`);
  }
}

/** Undefined means default, also where somebody writes it out. */
function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

function misconfigured(detail: string): ReceiverError {
  return new ReceiverError("misconfigured", detail);
}
