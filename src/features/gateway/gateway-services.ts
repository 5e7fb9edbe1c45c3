/**
 * Interfaces of the gateway (src/gateway) that the API and the CLI use. As with other services, every method takes the
 * caller's scope.
 */

import type { TraceStep, Verdict } from "../../domain/filter.ts";
import type { ClientCertificateSeen } from "../../domain/http/client-certificate.ts";
import type { ReceivedRequest, RequestFilter, RequestPlace } from "../../ports/store/gateway.ts";
import { problemAnswer } from "../../receiver/answers.ts";
import { ReceiverError, type ReceiverErrorCode } from "../../receiver/receiver-error.ts";
import type { SearchPageRequest } from "../searched-pages.ts";
import type { Connections } from "./connection-service.ts";
import type { FilterEvaluations } from "./filter-evaluation.ts";
import type { GatewayOutcome } from "./relayed.ts";
import type { Requests } from "./request-service.ts";
import type { GatewayMode, Source } from "./source.ts";
import type { Sources } from "./source-service.ts";

export interface GatewayServices {
  readonly sources: Pick<Sources, keyof Sources>;
  readonly connections: Pick<Connections, keyof Connections>;
  readonly requests: Pick<Requests, keyof Requests>;
  readonly filters: Pick<FilterEvaluations, keyof FilterEvaluations>;
  readonly inbound: Inbound;
  /** Describes store and forward to the operators of senders (EDS-9.7-6). */
  description(): ServiceDescription;
}

export interface SourceView {
  readonly source: Source;
  /** The configuration with its secrets masked. */
  readonly verification: Readonly<Record<string, unknown>>;
  readonly warnings: readonly string[];
  readonly effectiveMode: GatewayMode;
}

/** Counts by outcome, and the time of the latest request in Unix milliseconds. */
export interface RecentRequests extends Readonly<Record<GatewayOutcome, number>> {
  readonly lastReceivedAt: number | null;
}

export interface SourceWithPath {
  readonly view: SourceView;
  /** `/in/{token}`, a secret: anyone with this path can send. */
  readonly path: string;
}

export interface ConnectionQuery {
  readonly tenantId: string | null;
  readonly sourceId: string | null;
  readonly webhookId: string | null;
}

export interface RequestQuery extends RequestFilter {
  readonly page: SearchPageRequest<RequestPlace>;
}

export type FilterEvaluation = MessageEvaluation | RequestsEvaluation;

export interface MessageEvaluation {
  readonly kind: "message";
  /** Undefined if the verdict depends on data that is not kept. */
  readonly verdict: Verdict;
  readonly trace: readonly TraceStep[];
}

export interface RequestsEvaluation {
  readonly kind: "requests";
  readonly matched: EvaluatedRequests;
  readonly notMatched: EvaluatedRequests;
  /** Requests whose outcome depends on data that is not kept. */
  readonly notExamined: EvaluatedRequests;
  /** Number of requests that filters do not apply to: rejected requests, duplicates and address verifications. */
  readonly notRoutedCount: number;
  /** False if the call reached its limit before it had examined all requests. */
  readonly isComplete: boolean;
  /** When the oldest examined request arrived, in Unix milliseconds; null if no request was examined. */
  readonly searchedTo: number | null;
}

/** The number of requests, and some of them, newest first. */
export interface EvaluatedRequests {
  readonly count: number;
  readonly samples: readonly EvaluatedRequest[];
}

export interface EvaluatedRequest {
  /** The request without its body. */
  readonly request: ReceivedRequest;
  /** The first rule that refuses the request. */
  readonly rule: string | null;
}

/** The guarantees of store and forward. The version changes if and only if the content changes. */
export interface ServiceDescription {
  readonly version: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** Receives the requests of providers. */
export interface Inbound {
  /**
   * Called before the body is read. Returns the response to a sender whose verification failed too often, or null to
   * continue. For senders that are not limited, it returns null synchronously. Never rejects.
   */
  refuse(head: InboundHead): Promise<InboundAnswer | null> | null;
  /** Never rejects. */
  handle(request: InboundRequest): Promise<InboundAnswer>;
}

/** The parts of a request that are known before its body. */
export interface InboundHead {
  readonly method: string;
  /** Path and query as received. */
  readonly url: string;
  /** Flat name-value list as received. */
  readonly rawHeaders: readonly string[];
  /** As reported by a trusted proxy. */
  readonly clientCertificate?: ClientCertificateSeen | null;
  /** Address of the sender, from the connection or trusted proxies; empty if unknown. */
  readonly clientAddress?: string;
}

export interface InboundRequest extends InboundHead {
  /** Null if the body exceeds the server's limit. */
  readonly body: Uint8Array | null;
  /**
   * Set if the server refused the request before it reached the gateway. The gateway logs the request for the source
   * and responds with this.
   */
  readonly fault?: InboundFault;
}

export interface InboundFault {
  /** 4xx or 5xx. */
  readonly status: number;
  /** `rejection_cause` in the log. */
  readonly cause: string;
  readonly detail: string;
  readonly retryAfterSeconds: number | null;
}

export interface InboundAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** Error responses to senders: problem details (RFC 9457), without any data of a destination. */

const style = { statuses: {}, documentationUrl: "/docs/idempotency", retryAfterSeconds: 5 };

/** An error response for one of the errors that the receiver kit defines. */
export function refusal(
  code: ReceiverErrorCode,
  detail: string,
  more: { readonly retryAfterSeconds?: number; readonly headers?: Record<string, string> } = {},
): InboundAnswer {
  const error = new ReceiverError(code, detail, more);
  const answer = problemAnswer(error, style, more.headers ?? {});
  return { ...answer, body: answer.body ?? "" };
}

const titles: Readonly<Record<number, string>> = {
  502: "The destination cannot be reached",
  503: "The destination cannot accept this now",
  504: "The destination did not respond in time",
  508: "Forwarding loop detected",
};

/** An error response that only an intermediary can send. */
export function hopProblem(
  status: number,
  detail: string,
  more: { readonly retryAfterSeconds?: number; readonly members?: object } = {},
): InboundAnswer {
  const { retryAfterSeconds, members } = more;
  const problem = {
    type: "about:blank",
    title: titles[status] ?? "Not accepted",
    status,
    detail,
    ...members,
  };
  return {
    status,
    headers: {
      "content-type": "application/problem+json",
      ...(retryAfterSeconds !== undefined && {
        "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds))),
      }),
    },
    body: JSON.stringify(problem),
  };
}
