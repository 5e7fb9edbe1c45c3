import { filterEvaluationFields } from "../../core/fields/filter-evaluation.ts";
import { defaultBounds } from "../../core/json/guard.ts";
import type {
  EvaluatedRequest,
  FilterEvaluation,
  MessageEvaluation,
  RequestsEvaluation,
} from "../../services/gateway/gateway-services.ts";
import type { ApiOptions } from "../context.ts";
import { inputOf } from "../mapping/fields.ts";
import { formatInstant } from "../mapping/instant.ts";
import { defineRoute } from "../route.ts";
import type { Route } from "../route.ts";
import { filterEvaluationInputSchema, filterEvaluationSchema } from "../schemas/gateway.ts";

/** Allowance for filter, headers, query and path in addition to the message body. */
const besideBodyBytesMax = 131_072;

export function filterRoutes(options: ApiOptions): readonly Route[] {
  return [evaluateRoute(options)];
}

function evaluateRoute({ gateway, limits }: ApiOptions): Route {
  return defineRoute({
    method: "POST",
    path: "/v1/filters/evaluate",
    operationId: "evaluateFilter",
    tag: "Gateway",
    summary: "Test a filter",
    description:
      "Evaluates the filter of a connection against a logged request, the latest requests of a source, or a given message, and changes nothing. Logged requests have the headers of the log, so a condition on a credential has no result.",
    access: "read",
    body: filterEvaluationInputSchema,
    bodyBounds: { ...defaultBounds, valuesMax: 100_000 },
    bodyBytesMax: limits.payloadBytesMax + besideBodyBytesMax,
    answers: { 200: { description: "The result, with reasons.", schema: filterEvaluationSchema } },
    errors: ["not_found"],
    audit: { none: "it changes nothing" },
    handle: async ({ scope, body }) => {
      const input = inputOf(filterEvaluationFields, body);
      return { status: 200, body: evaluationJson(await gateway.filters.evaluate(scope, input)) };
    },
  });
}

function evaluationJson(evaluation: FilterEvaluation): object {
  return evaluation.kind === "message" ? messageJson(evaluation) : requestsJson(evaluation);
}

function messageJson({ verdict, trace }: MessageEvaluation): object {
  return { matches: verdict === undefined ? null : verdict === null, rule: verdict ?? null, trace };
}

function requestsJson(found: RequestsEvaluation): object {
  const { matched, notMatched, notExamined, notRoutedCount, isComplete, searchedTo } = found;
  return {
    examined: matched.count + notMatched.count,
    matched: matched.count,
    not_matched: notMatched.count,
    not_examined: notExamined.count,
    not_routed: notRoutedCount,
    samples: {
      matched: matched.samples.map(sampleJson),
      not_matched: notMatched.samples.map(sampleJson),
      not_examined: notExamined.samples.map(sampleJson),
    },
    complete: isComplete,
    searched_to: searchedTo === null ? null : formatInstant(searchedTo),
  };
}

function sampleJson({ request, rule }: EvaluatedRequest): object {
  const { id, receivedAt, eventType, originalType } = request;
  return {
    request_id: id,
    received_at: formatInstant(receivedAt),
    event_type: eventType,
    original_type: originalType,
    rule,
  };
}
