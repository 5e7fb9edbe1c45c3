import { defaultBounds } from "../../domain/json/guard.ts";
import type { ApiOptions } from "../../http/context.ts";
import { inputOf, jsonOf } from "../../http/mapping.ts";
import type { Pager } from "../../http/paging.ts";
import { PlainRoutes } from "../../http/plain-routes.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import {
  connectionResource,
  filterEvaluationFields,
  filterEvaluationInputSchema,
  filterEvaluationSchema,
} from "../../resources/connection.ts";
import type { ConnectionQuery, EvaluatedRequest, FilterEvaluation } from "./gateway-services.ts";
import type { Connection } from "./source.ts";

/** Connections between sources and webhooks. */
export function connectionRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  const connections = () => options.gateway.connections;
  const showAll = async (rows: readonly Connection[]) => {
    const counts = await connections().heldCounts(rows);
    return rows.map((connection) => connectionJson(connection, counts.get(connection.id) ?? 0));
  };
  const routes = new PlainRoutes(
    connectionResource,
    (scope, id) => connections().get(scope, id),
    async (connection) => (await showAll([connection]))[0] ?? {},
    showAll,
  );
  return [
    routes.create(
      { access: "manage", summary: "Connect a source to a webhook", errors: ["conflict", "limit_reached"] },
      (scope, input) => connections().create(scope, input),
    ),
    routes.list(
      { access: "read", summary: "List connections, newest first" },
      pager,
      (scope, filters) => connections().list(scope, filters as unknown as ConnectionQuery),
      ({ id }) => id,
    ),
    routes.get({ access: "read" }),
    routes.update(
      {
        access: "manage",
        summary: "Change, pause or resume a connection",
        description:
          "A resumed connection opens immediately. In the background, it sends the messages that it held, oldest first; new messages queue behind them. `held_count` shows how many are left.",
      },
      (scope, id, input) => connections().update(scope, id, input),
    ),
    routes.delete(
      { access: "manage", description: "Existing deliveries are kept." },
      (scope, id) => connections().delete(scope, id),
      ["source_id", "webhook_id", "name"],
    ),
  ];
}

function connectionJson(connection: Connection, heldCount: number): Record<string, unknown> {
  const paused = connection.pausedAt !== null;
  return jsonOf(connectionResource.schemas.one, { ...connection, paused, heldCount });
}

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
      "Evaluates the filter of a connection against a logged request, the latest requests of a source, or a given message, and changes nothing. Credentials in logged requests are masked, so a condition on a credential has no result.",
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
  if (evaluation.kind === "message") {
    const { verdict, trace } = evaluation;
    const matches = verdict === undefined ? null : verdict === null;
    return jsonOf(filterEvaluationSchema, { matches, rule: verdict ?? null, trace });
  }
  const { matched, notMatched, notExamined, notRoutedCount, isComplete, searchedTo } = evaluation;
  return jsonOf(filterEvaluationSchema, {
    examined: matched.count + notMatched.count,
    matched: matched.count,
    notMatched: notMatched.count,
    notExamined: notExamined.count,
    notRouted: notRoutedCount,
    samples: {
      matched: matched.samples.map(sampleOf),
      notMatched: notMatched.samples.map(sampleOf),
      notExamined: notExamined.samples.map(sampleOf),
    },
    complete: isComplete,
    searchedTo,
  });
}

function sampleOf({ request, rule }: EvaluatedRequest): object {
  return { ...request, requestId: request.id, rule };
}
