import type { GatewayOutcome } from "../../core/gateway/request.ts";
import type { Connection, Source } from "../../core/gateway/source.ts";
import type { AuditEntry } from "./audit.ts";
import type { DeliverySearch, SearchPage } from "./search.ts";
import type { StepResult } from "./upkeep.ts";

/** Sources and connections, which are few and kept in memory; requests and answers, which are many. */
export interface GatewayStore {
  sources(): Promise<readonly Source[]>;
  /** Creates or replaces. */
  saveSource(source: Source, audit?: AuditEntry): Promise<void>;
  /** With its connections. What it received stays until retention removes it. */
  deleteSource(id: string, audit?: AuditEntry): Promise<void>;
  connections(): Promise<readonly Connection[]>;
  saveConnection(connection: Connection, audit?: AuditEntry): Promise<void>;
  deleteConnection(id: string, audit?: AuditEntry): Promise<void>;
  /**
   * Sets `releasingSince` to null where it still has this value and the connection is not paused. Returns the connection as
   * it is then stored, or null when nothing was changed: another process may have paused it again.
   */
  endRelease(id: string, releasingSince: number): Promise<Connection | null>;

  /** One that is there already stays as it is. */
  addRequests(requests: readonly ReceivedRequest[]): Promise<void>;
  /** Replaces what is known of a request and for what it is held, but neither body nor bookmark. */
  updateRequest(request: ReceivedRequest): Promise<void>;
  /** With its body. */
  request(id: string): Promise<ReceivedRequest | null>;
  /** Newest first, without bodies. A page ends with its budget, as with deliveries. */
  searchRequests(search: RequestSearch): Promise<SearchPage<ReceivedRequest, RequestPlace>>;
  /** What waits for a connection, oldest first. It is known until the request is updated, however old it is. */
  held(query: HeldQuery): Promise<readonly HeldMessage[]>;
  /** Connections for which something waits, whether or not they are still there. */
  connectionsWithHeld(): Promise<readonly string[]>;
  /** How many messages each of these connections holds, counted up to `countMax`. */
  heldCounts(query: HeldCountQuery): Promise<ReadonlyMap<string, number>>;
  /** These messages do not wait any more. The log, as far as it still has them, shows what became of each. */
  settleHeld(messages: readonly SettledMessage[]): Promise<void>;
  /** Of each source its newest requests, counted by what became of them; sources without any have no rows. */
  recentOutcomes(query: RecentQuery): Promise<readonly RecentOutcome[]>;
  /** A name of null takes the bookmark away; a body is added where there is none. False when there is no such request. */
  bookmark(mark: RequestMark, audit?: AuditEntry): Promise<boolean>;
  /** Removes some of what is older than asked for, but never what has a bookmark. Ids tell what is older. */
  forgetRequests(step: RequestStep): Promise<StepResult>;

  /** Answers that repeats of a request get; the promises are those of DeduplicationStore of the receiver kit. */
  readonly answers: AnswerStore;
}

/** One request as the log shows it. */
export interface ReceivedRequest {
  /** UUIDv7. */
  readonly id: string;
  readonly tenantId: string;
  readonly sourceId: string;
  readonly receivedAt: number;
  readonly method: string;
  /** Path and query, without the secret of the address. */
  readonly path: string;
  /** Flat name-value list; secrets are masked. */
  readonly headers: readonly string[];
  readonly bodyBytes: number;
  /** What it was answered. */
  readonly status: number;
  readonly outcome: GatewayOutcome;
  /** Why it was rejected; null otherwise. */
  readonly cause: string | null;
  readonly detail: string | null;
  readonly durationMs: number;
  readonly scheme: string | null;
  readonly eventType: string | null;
  /** As the sender wrote it. */
  readonly originalType: string | null;
  readonly eventId: string | null;
  readonly forwards: readonly ForwardNote[];
  /** All headers as they came, sealed: what was rejected can be verified again. Null for what needs no more. */
  readonly sealedHeaders: string | null;
  readonly bookmark: string | null;
  /** Null where it is not kept (any more), and in listings. */
  readonly body: Uint8Array | null;
  /** Requests of the same source, outcome and cause that followed and were counted without a row of their own. */
  readonly more: number;
}

/** What became of a request on the way to one webhook. */
export interface ForwardNote {
  readonly connectionId: string;
  readonly webhookId: string;
  /** `stored` waits in a delivery; `held` waits for a connection that is paused; `ignored` was filtered. */
  readonly result: "stored" | "held" | "ignored" | "accepted" | "failed";
  /** The rule that ignored it, or what the webhook answered. */
  readonly detail: string | null;
}

/** An event that was stored and waits for a connection that is paused. */
export interface HeldMessage {
  readonly connectionId: string;
  readonly requestId: string;
  readonly eventId: string;
}

/** A message that was held, and what became of it. */
export interface SettledMessage extends Omit<HeldMessage, "eventId"> {
  readonly result: ForwardNote["result"];
  readonly detail: string | null;
}

/** Whose held messages are counted, and how far. */
export interface HeldCountQuery {
  readonly connectionIds: readonly string[];
  readonly countMax: number;
}

/** A page of what waits for one connection. */
export interface HeldQuery {
  readonly connectionId: string;
  /** Of the request of the page before. */
  readonly after: string | null;
  readonly limit: number;
}

/** What a request is kept for, and with which body. */
export interface RequestMark {
  readonly id: string;
  readonly name: string | null;
  readonly body: Uint8Array | null;
}

/** A question of a person about the log. */
export interface RequestSearch extends Pick<DeliverySearch, "limit" | "budget"> {
  readonly filter: RequestFilter;
  /** Only what came before; null begins. */
  readonly after: RequestPlace | null;
}

/** The last row of a page, or of what was looked at. Ids are in the order in which requests came. */
export interface RequestPlace {
  readonly id: string;
}

/** Null leaves a filter out. */
export interface RequestFilter {
  readonly tenantId: string | null;
  readonly sourceId: string | null;
  readonly status: number | null;
  readonly outcome: GatewayOutcome | null;
  readonly cause: string | null;
  readonly bookmarked: boolean | null;
  /** Unix milliseconds; `from` inclusive. */
  readonly from: number | null;
  /** Exclusive. */
  readonly to: number | null;
}

/** Leaves nothing out. */
export const everyRequest: RequestFilter = {
  ...{ tenantId: null, sourceId: null, status: null, outcome: null, cause: null, bookmarked: null },
  ...{ from: null, to: null },
};

/** Whose newest requests are counted. */
export interface RecentQuery {
  readonly sourceIds: readonly string[];
  /** Of one source. */
  readonly limit: number;
}

/** How many of the newest requests of one source ended alike. */
export interface RecentOutcome {
  readonly sourceId: string;
  readonly outcome: GatewayOutcome;
  readonly count: number;
  /** Of the newest of them, Unix milliseconds. */
  readonly lastReceivedAt: number;
}

/** What of the log goes; at most `limit` rows of each kind at once. */
export interface RequestStep {
  /** Rows received before are removed. */
  readonly before: number;
  /** Bodies received before are removed. */
  readonly bodiesBefore: number;
  readonly limit: number;
}

/** Which repeats are known, and what they are answered. */
export interface AnswerStore {
  claim(request: AnswerClaim): Promise<AnswerOutcome>;
  finish(completion: AnswerCompletion): Promise<boolean>;
  release(claim: { readonly key: string; readonly token: string }): Promise<void>;
  /** Removes some of what ran out. */
  purge(step: { readonly now: number; readonly limit: number }): Promise<StepResult>;
}

/** As DeduplicationClaim of the receiver kit. */
export interface AnswerClaim {
  readonly key: string;
  readonly fingerprint: string;
  readonly token: string;
  readonly now: number;
  readonly expiresAt: number;
}

/** As DeduplicationCompletion of the receiver kit. */
export interface AnswerCompletion extends AnswerClaim {
  readonly result: string;
}

/** As ClaimOutcome of the receiver kit. */
export type AnswerOutcome =
  | { readonly kind: "claimed" }
  | { readonly kind: "running"; readonly expiresAt: number }
  | { readonly kind: "completed"; readonly result: string }
  | { readonly kind: "mismatch" };
