/** What the gateway is told to do with what somebody sends. Times are Unix milliseconds. */
import type { RateLimitConfig } from "../profile.ts";

/** When the sender is answered: after the destination accepted, or once the message is stored (EDS-9.7-6, 9.7-7). */
export const gatewayModes = ["pass_through", "store_and_forward"] as const;
export type GatewayMode = (typeof gatewayModes)[number];

/** What senders are answered while a source is switched off: come back, or never again. */
export const inactiveAnswers = ["unavailable", "gone"] as const;
export type InactiveAnswer = (typeof inactiveAnswers)[number];

/**
 * How senders look at an address before they use it: by HEAD, by GET, or by POST with a `validationToken` in the query that has
 * to come back.
 */
export const sourceProbes = ["head", "get", "validation_token"] as const;
export type SourceProbe = (typeof sourceProbes)[number];

/** Where the kind of event stands in a message; one of them. */
export interface EventTypeSource {
  readonly fixed?: string;
  readonly header?: string;
  readonly pointer?: string;
  readonly query?: string;
  /** The part of `/_webhooks/{party}/…` that names it. */
  readonly path?: boolean;
  /** Also where nobody vouches for what stands there. */
  readonly allowUnsigned?: boolean;
}

/** What a sender is answered for a message that is stored. */
export interface CustomResponse {
  readonly status: number;
  readonly contentType: string | null;
  readonly body: string | null;
}

/** Answers of a source that differ from the table of upstream-status.ts: `404`, `timeout`, `not_reached` to a status. */
export type StatusOverrides = Readonly<Record<string, number>>;

/** Whether senders of CloudEvents may ask for consent by OPTIONS, and who gets it (CEW-4). */
export interface SourceHandshake {
  /** DNS names that senders give themselves; `*` for everybody. */
  readonly allowedOrigins: readonly string[];
  /** Granted at most; null for no limit. */
  readonly ratePerMinuteMax: number | null;
}

/** A secret address: what is compared, and what can be shown again. */
export interface SourceToken {
  /** SHA-256, hexadecimal. */
  readonly hash: string;
  /** Sealed, base64. */
  readonly sealed: string;
  /** Set on the old one of a rotation. */
  readonly expiresAt: number | null;
}

/** That the senders of a source know what store and forward means (EDS-9.7-6). */
export interface Acknowledgement {
  readonly by: string;
  readonly at: number;
  /** Of the service description that was acknowledged. */
  readonly version: string;
}

/** An address that somebody sends to. */
export interface Source {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly description: string;
  /** Name in `/_webhooks/{party}/…`, unique in the deployment; null for the secret address alone. */
  readonly party: string | null;
  /** Newest first. */
  readonly tokens: readonly SourceToken[];
  /** JSON of the verification with its secrets, sealed, base64. */
  readonly verification: string;
  readonly mode: GatewayMode;
  readonly acknowledgement: Acknowledgement | null;
  readonly active: boolean;
  readonly whenInactive: InactiveAnswer;
  readonly eventType: EventTypeSource | null;
  /** JSON pointers whose values together tell one message from another, where the sender gives no id. */
  readonly keyPointers: readonly string[] | null;
  readonly forwardHeaders: readonly string[];
  readonly forwardPath: boolean;
  readonly passSignatures: boolean;
  readonly allowsPut: boolean;
  /** Checks of the address that are answered, in addition to those of the provider. */
  readonly allowProbes: readonly SourceProbe[];
  readonly customResponse: CustomResponse | null;
  readonly rateLimit: RateLimitConfig | null;
  readonly bodyBytesMax: number | null;
  /** Pass-through: until the sender is answered. */
  readonly budgetMs: number;
  /** Pass-through: what failed for now is tried again while the budget lasts. */
  readonly retriesWithinBudget: boolean;
  readonly statusOverrides: StatusOverrides;
  /** Null answers OPTIONS with 405. */
  readonly handshake: SourceHandshake | null;
  /** How long a key is remembered. */
  readonly dedupMs: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Settings that came later: a document that was stored before them means these. */
const laterSettings = {
  retriesWithinBudget: false,
  statusOverrides: {},
  handshake: null,
  allowProbes: [],
} satisfies Partial<Source>;

/** A source as it was stored, whichever version stored it. */
export function storedSource(document: Source): Source {
  return { ...laterSettings, ...document };
}

/** When two messages of a connection count as one, for senders that give no id. */
export interface ConnectionDeduplicate {
  readonly windowMs: number;
  /** JSON pointers into the body: these alone are compared; null for all of it. */
  readonly includeFields: readonly string[] | null;
  /** These are left out; null for none. */
  readonly excludeFields: readonly string[] | null;
}

/** A source and the webhook that gets what comes from it. */
export interface Connection {
  readonly id: string;
  readonly tenantId: string;
  readonly sourceId: string;
  readonly webhookId: string;
  readonly name: string;
  /** In pass-through: the sender is told of success only when this one accepted. */
  readonly required: boolean;
  /** Since when it holds back what comes; null while it does not. */
  readonly pausedAt: number | null;
  /** Since when it sends the messages that it held; later ones wait behind them. Null when none are left. */
  readonly releasingSince: number | null;
  /** core/filter; null lets everything through. */
  readonly filter: Readonly<Record<string, unknown>> | null;
  /** Stored and forwarded messages are sent no sooner. */
  readonly delayMs: number;
  readonly deduplicate: ConnectionDeduplicate | null;
  /** Delays between requests, instead of those of the webhook; null for the webhook's. */
  readonly retryDelaysMs: readonly number[] | null;
  /** May lead to an address of this deployment. */
  readonly allowChain: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

const laterRules = {
  delayMs: 0,
  deduplicate: null,
  retryDelaysMs: null,
  allowChain: false,
  releasingSince: null,
} satisfies Partial<Connection>;

/** A connection as it was stored, whichever version stored it. */
export function storedConnection(document: Connection): Connection {
  return { ...laterRules, ...document };
}

/** New messages wait: behind a pause, or behind messages that are still being sent after one. */
export function isHolding({ pausedAt, releasingSince }: Connection): boolean {
  return pausedAt !== null || releasingSince !== null;
}

export const sourceDefaults = {
  budgetMs: 10_000,
  dedupMs: 7 * 86_400_000,
} as const;
