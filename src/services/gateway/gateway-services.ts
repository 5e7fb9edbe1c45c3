/** What the gateway offers to API and CLI; in src/gateway. As with other services, every method takes the scope of the caller. */
import type { ConnectionChange, ConnectionInput } from "../../core/fields/connection.ts";
import type { FilterEvaluationInput } from "../../core/fields/filter-evaluation.ts";
import type { TraceStep, Verdict } from "../../core/filter/filter.ts";
import type { RequestReplayInput, SourceInput, SourceRotateInput } from "../../core/fields/gateway.ts";
import type { GatewayOutcome } from "../../core/gateway/request.ts";
import type { Connection, GatewayMode, Source } from "../../core/gateway/source.ts";
import type { ReceivedRequest, RequestFilter, RequestPlace } from "../../ports/store/gateway.ts";
import type { ClientCertificateSeen } from "../../core/http/client-certificate.ts";
import type { SearchedPage, SearchPageRequest } from "../searched-place.ts";
import type { Scope } from "../services.ts";

export interface GatewayServices {
  readonly sources: SourceService;
  readonly connections: ConnectionService;
  readonly requests: RequestService;
  readonly filters: FilterService;
  readonly inbound: Inbound;
  /** Of store and forward, for whoever runs a sender (EDS-9.7-6). */
  description(): ServiceDescription;
}

export interface SourceService {
  list(scope: Scope, query: { readonly tenantId: string | null }): readonly SourceView[];
  get(scope: Scope, id: string): SourceView;
  /** What became of the last requests of these sources, by id of the source; 100 of each at most. */
  recent(views: readonly SourceView[]): Promise<ReadonlyMap<string, RecentRequests>>;
  create(scope: Scope, input: SourceInput): Promise<SourceWithPath>;
  update(scope: Scope, command: { readonly id: string; readonly input: SourceInput }): Promise<SourceView>;
  delete(scope: Scope, id: string): Promise<void>;
  /** The secret address that is in force. */
  address(scope: Scope, id: string): SourceWithPath;
  /** A new secret address; the one before works for the overlap. */
  rotate(
    scope: Scope,
    command: { readonly id: string; readonly input: SourceRotateInput },
  ): Promise<SourceWithPath>;
  acknowledge(
    scope: Scope,
    command: { readonly id: string; readonly version: string; readonly by: string },
  ): Promise<SourceView>;
}

export interface SourceView {
  readonly source: Source;
  /** The configuration with its secrets masked. */
  readonly verification: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
  readonly effectiveMode: GatewayMode;
}

/** Counts by what became of them, and when the newest came in Unix milliseconds. */
export interface RecentRequests extends Readonly<Record<GatewayOutcome, number>> {
  readonly lastReceivedAt: number | null;
}

export interface SourceWithPath {
  readonly view: SourceView;
  /** `/in/{token}`: whoever knows it can send. */
  readonly path: string;
}

export interface ConnectionService {
  list(scope: Scope, query: ConnectionQuery): readonly Connection[];
  get(scope: Scope, id: string): Connection;
  /** Messages that wait for these connections, by id of the connection, counted up to 10,000; none where there are none. */
  heldCounts(connections: readonly Connection[]): Promise<ReadonlyMap<string, number>>;
  create(scope: Scope, input: ConnectionInput): Promise<Connection>;
  update(
    scope: Scope,
    command: { readonly id: string; readonly input: ConnectionChange },
  ): Promise<Connection>;
  delete(scope: Scope, id: string): Promise<void>;
}

export interface ConnectionQuery {
  readonly tenantId: string | null;
  readonly sourceId: string | null;
  readonly webhookId: string | null;
}

export interface RequestService {
  /** Newest first; a page ends with its budget. */
  list(scope: Scope, query: RequestQuery): Promise<SearchedPage<ReceivedRequest, RequestPlace>>;
  get(scope: Scope, id: string): Promise<ReceivedRequest>;
  /** Runs the connections anew; what was rejected is verified anew first, whatever its age. */
  replay(
    scope: Scope,
    command: { readonly id: string; readonly input: RequestReplayInput },
  ): Promise<ReceivedRequest>;
  bookmark(
    scope: Scope,
    command: { readonly id: string; readonly name: string | null },
  ): Promise<ReceivedRequest>;
}

export interface RequestQuery extends RequestFilter {
  readonly page: SearchPageRequest<RequestPlace>;
}

/** Tries filters before anybody saves them. */
export interface FilterService {
  evaluate(scope: Scope, input: FilterEvaluationInput): Promise<FilterEvaluation>;
}

export type FilterEvaluation = MessageEvaluation | RequestsEvaluation;

export interface MessageEvaluation {
  readonly kind: "message";
  /** Undefined when it depends on what is not kept. */
  readonly verdict: Verdict;
  readonly trace: readonly TraceStep[];
}

export interface RequestsEvaluation {
  readonly kind: "requests";
  readonly matched: EvaluatedRequests;
  readonly notMatched: EvaluatedRequests;
  /** It depends on what is not kept. */
  readonly notExamined: EvaluatedRequests;
  /** No filter was asked: they were rejected, repeats, or checks of the address. */
  readonly notRoutedCount: number;
  /** False when there was more to look at than one call may. */
  readonly isComplete: boolean;
  /** When the oldest that was looked at came, Unix milliseconds; null without any. */
  readonly searchedTo: number | null;
}

/** How many there are, and some of them, newest first. */
export interface EvaluatedRequests {
  readonly count: number;
  readonly samples: readonly EvaluatedRequest[];
}

export interface EvaluatedRequest {
  /** Without its body. */
  readonly request: ReceivedRequest;
  /** The one that refuses it. */
  readonly rule: string | null;
}

/** What store and forward promises. Changes with what it says, and with nothing else. */
export interface ServiceDescription {
  readonly version: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** Where providers send to. */
export interface Inbound {
  /**
   * Asked before the body is read: the answer to a sender whose verification failed too often, or null to go on. Null at once for
   * senders that are not limited. Never rejects.
   */
  refuse(head: InboundHead): Promise<InboundAnswer | null> | null;
  /** Never rejects. */
  handle(request: InboundRequest): Promise<InboundAnswer>;
}

/** What of a request is known before its body is read. */
export interface InboundHead {
  readonly method: string;
  /** Path and query as received. */
  readonly url: string;
  /** Flat name-value list as received. */
  readonly rawHeaders: readonly string[];
  /** As a trusted proxy names it. */
  readonly clientCertificate?: ClientCertificateSeen | null;
  /** Of the sender, by the connection or by trusted proxies; empty where it is not known. */
  readonly clientAddress?: string;
}

export interface InboundRequest extends InboundHead {
  /** Null for a body beyond the limit of the server. */
  readonly body: Uint8Array | null;
  /** What the server refused before the gateway saw the request: it is logged for the source, and answered like this. */
  readonly fault?: InboundFault;
}

export interface InboundFault {
  /** 4xx or 5xx. */
  readonly status: number;
  /** `rejection_cause` of the log. */
  readonly cause: string;
  readonly detail: string;
  readonly retryAfterSeconds: number | null;
}

export interface InboundAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}
