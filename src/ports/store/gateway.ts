import type { GatewayOutcome } from "../../features/gateway/relayed.ts";
import type { Connection, Source } from "../../features/gateway/source.ts";
import type { AuditEntry } from "./audit.ts";
import type { DeliverySearch, SearchPage } from "./search.ts";
import type { StepResult } from "./upkeep.ts";

/** Sources and connections, which are few and kept in memory; requests and responses, which are many. */
export interface GatewayStore {
  sources(): Promise<readonly Source[]>;
  /** Creates or replaces the source. */
  saveSource(source: Source, audit?: AuditEntry): Promise<void>;
  /** Deletes a source with its connections. Its received requests stay until retention removes them. */
  deleteSource(id: string, audit?: AuditEntry): Promise<void>;
  connections(): Promise<readonly Connection[]>;
  saveConnection(connection: Connection, audit?: AuditEntry): Promise<void>;
  deleteConnection(id: string, audit?: AuditEntry): Promise<void>;
  /**
   * Sets `releasingSince` to null if it still has the given value and the connection is not paused. Returns the stored
   * connection, or null if nothing changed because another process has paused the connection again.
   */
  endRelease(id: string, releasingSince: number): Promise<Connection | null>;

  /** Existing requests are not changed. */
  addRequests(requests: readonly ReceivedRequest[]): Promise<void>;
  /** Replaces the details and the holds of a request; its body and its bookmark are unchanged. */
  updateRequest(request: ReceivedRequest): Promise<void>;
  /** Includes the body. */
  request(id: string): Promise<ReceivedRequest | null>;
  /** Newest first, without bodies. A page ends when its budget is spent, as in searches for deliveries. */
  searchRequests(search: RequestSearch): Promise<SearchPage<ReceivedRequest, RequestPlace>>;
  /** Messages held for a connection, oldest first. They are kept, regardless of age, until the request is updated. */
  held(query: HeldQuery): Promise<readonly HeldMessage[]>;
  /** Connections with held messages, including deleted connections. */
  connectionsWithHeld(): Promise<readonly string[]>;
  /** Number of messages held by each of these connections, counted up to `countMax`. */
  heldCounts(query: HeldCountQuery): Promise<ReadonlyMap<string, number>>;
  /** Ends the hold of these messages. Records the results in the log if the requests are still in it. */
  settleHeld(messages: readonly SettledMessage[]): Promise<void>;
  /** Counts the newest requests of each source by outcome. Sources without requests have no rows. */
  recentOutcomes(query: RecentQuery): Promise<readonly RecentOutcome[]>;
  /**
   * Sets a bookmark, or removes it if the name is null. A body is added if the request has none. Returns false if the
   * request does not exist.
   */
  bookmark(mark: RequestMark, audit?: AuditEntry): Promise<boolean>;
  /**
   * Deletes one batch of requests older than a given time, except bookmarked ones. The age is taken from the request
   * id.
   */
  forgetRequests(step: RequestStep): Promise<StepResult>;

  /** Responses for repeated requests. The promises are those of DeduplicationStore of the receiver kit. */
  readonly answers: AnswerStore;
}

/** One request in the log. */
export interface ReceivedRequest {
  /** UUIDv7. */
  readonly id: string;
  readonly tenantId: string;
  readonly sourceId: string;
  readonly receivedAt: number;
  readonly method: string;
  /** Path and query, without the secret part of the URL. */
  readonly path: string;
  /** Flat name-value list; secrets are masked. */
  readonly headers: readonly string[];
  readonly bodyBytes: number;
  /** Status of the response. */
  readonly status: number;
  readonly outcome: GatewayOutcome;
  /** Why the request was rejected; null if it was accepted. */
  readonly cause: string | null;
  readonly detail: string | null;
  readonly durationMs: number;
  readonly scheme: string | null;
  readonly eventType: string | null;
  /** The event type as the sender wrote it. */
  readonly originalType: string | null;
  readonly eventId: string | null;
  readonly forwards: readonly ForwardNote[];
  /**
   * The original headers, encrypted, with which a rejected request can be verified again. Null if they are not needed.
   */
  readonly sealedHeaders: string | null;
  readonly bookmark: string | null;
  /** Null in listings, and if the body was not stored or has been removed. */
  readonly body: Uint8Array | null;
  /** Number of subsequent requests with the same source, outcome and cause that were counted without a row. */
  readonly more: number;
}

/** The result of forwarding a request to one webhook. */
export interface ForwardNote {
  readonly connectionId: string;
  readonly webhookId: string;
  /**
   * `stored`: the message waits as a delivery. `held`: the message waits because the connection is paused. `ignored`: a
   * filter refused the message.
   */
  readonly result: "stored" | "held" | "ignored" | "accepted" | "failed";
  /** The rule that refused the message, or the response of the webhook. */
  readonly detail: string | null;
}

/** A stored event that waits for a paused connection. */
export interface HeldMessage {
  readonly connectionId: string;
  readonly requestId: string;
  readonly eventId: string;
}

/** A message that was held, and its result. */
export interface SettledMessage extends Omit<HeldMessage, "eventId"> {
  readonly result: ForwardNote["result"];
  readonly detail: string | null;
}

/** The connections whose held messages are counted, and the number at which counting stops. */
export interface HeldCountQuery {
  readonly connectionIds: readonly string[];
  readonly countMax: number;
}

/** A page of the messages held for one connection. */
export interface HeldQuery {
  readonly connectionId: string;
  /** Request ID of the last message on the previous page. */
  readonly after: string | null;
  readonly limit: number;
}

/** A bookmark of a request, and the body to store with it. */
export interface RequestMark {
  readonly id: string;
  readonly name: string | null;
  readonly body: Uint8Array | null;
}

/** A search of the log. */
export interface RequestSearch extends Pick<DeliverySearch, "limit" | "budget"> {
  readonly filter: RequestFilter;
  /** Only requests before this one; null starts at the newest. */
  readonly after: RequestPlace | null;
}

/** The last row that was returned or scanned. IDs reflect the order in which requests arrived. */
export interface RequestPlace {
  readonly id: string;
}

/** In each field, null disables the filter. */
export interface RequestFilter {
  readonly tenantId: string | null;
  readonly sourceId: string | null;
  readonly status: number | null;
  readonly outcome: GatewayOutcome | null;
  readonly cause: string | null;
  readonly bookmarked: boolean | null;
  /** Unix milliseconds; `from` inclusive. */
  readonly from: number | null;
  /** Index after the value. */
  readonly to: number | null;
}

/** Matches every request. */
export const everyRequest: RequestFilter = {
  tenantId: null,
  sourceId: null,
  status: null,
  outcome: null,
  cause: null,
  bookmarked: null,
  from: null,
  to: null,
};

/** Sources whose newest requests are counted. */
export interface RecentQuery {
  readonly sourceIds: readonly string[];
  /** Per source. */
  readonly limit: number;
}

/** How many of the newest requests of one source had this outcome. */
export interface RecentOutcome {
  readonly sourceId: string;
  readonly outcome: GatewayOutcome;
  readonly count: number;
  /** Time of the newest of these requests, Unix milliseconds. */
  readonly lastReceivedAt: number;
}

/** Selects the log rows to delete. Each call deletes a maximum of `limit` rows of each kind. */
export interface RequestStep {
  /** Rows received before this time are deleted. */
  readonly before: number;
  /** Bodies received before this time are deleted. */
  readonly bodiesBefore: number;
  readonly limit: number;
}

/** Known requests, and the responses for their repeats. */
export interface AnswerStore {
  claim(request: AnswerClaim): Promise<AnswerOutcome>;
  finish(completion: AnswerCompletion): Promise<boolean>;
  release(key: string, token: string): Promise<void>;
  /** Deletes a batch of expired responses. */
  purge(now: number, limit: number): Promise<StepResult>;
}

/** Like DeduplicationClaim of the receiver kit. */
export interface AnswerClaim {
  readonly key: string;
  readonly fingerprint: string;
  readonly token: string;
  readonly now: number;
  readonly expiresAt: number;
}

/** Like DeduplicationCompletion of the receiver kit. */
export interface AnswerCompletion extends AnswerClaim {
  readonly result: string;
}

/** Like ClaimOutcome of the receiver kit. */
export type AnswerOutcome =
  | { readonly kind: "claimed" }
  | { readonly kind: "running"; readonly expiresAt: number }
  | { readonly kind: "completed"; readonly result: string }
  | { readonly kind: "mismatch" };
