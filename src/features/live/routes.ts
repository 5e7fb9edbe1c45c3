/** The live update stream. */
import { InvalidRequestError, PosthornError } from "../../domain/errors.ts";
import { authenticate, authenticateCustomer, authorize, portalToken } from "../../http/authentication.ts";
import type { ApiOptions } from "../../http/context.ts";
import { type Call, defineRoute, type Route } from "../../http/route.ts";
import {
  eventStreamSchema,
  type LiveTopic,
  liveTopicText,
  parseLiveTopic,
  streamQuerySchema,
  topicsMax,
} from "../../resources/stream.ts";
import { alertJson } from "../alerts/routes.ts";
import { rowJson } from "../deliveries/routes.ts";
import { gatewayRequestJson } from "../gateway/request-routes.ts";
import { operationJson } from "../operations/views.ts";
import { deliveryProblemJson } from "../problems/routes.ts";
import type { Principal } from "../services.ts";
import { pointJson } from "../statistics/routes.ts";
import { eventStreamHeaders, type OpenStreams, resumedFrom, type StreamEvent } from "./event-streams.ts";
import type { LiveNews } from "./live-feed.ts";

const needed = { access: "read", capability: "deliveries:read" } as const;
/** Additional access that a topic kind requires. */
const neededBeside: Partial<Record<LiveTopic["kind"], Pick<Route, "access" | "capability">>> = {
  alerts: { access: "manage" },
  // No capability grants this topic, so portal sessions cannot subscribe to it.
  problems: { access: "read" },
  requests: { access: "read" },
  operation: { access: "read", capability: "endpoints:recover" },
};

export function streamRoute(options: ApiOptions, streams: OpenStreams): Route {
  const { services, clock } = options;
  return defineRoute({
    method: "GET",
    path: "/v1/stream",
    operationId: "stream",
    tag: "Live",
    summary: "Stream changes of deliveries, operations, problems, alerts, statistics and inbound requests",
    description:
      "Server-sent events. The server checks for changes once per second and sends up to 50 rows per topic; `left_out` is set if " +
      "there were more. With `Last-Event-ID` a client can resume within a minute. A quiet stream sends a comment every 15 seconds. " +
      "Each caller may open 20 streams, a portal session 4; a tenant may hold up to half of the streams of a process.",
    ...needed,
    isStream: true,
    query: streamQuerySchema,
    answers: {
      200: { description: "Events.", schema: eventStreamSchema, contentType: "text/event-stream" },
    },
    errors: ["not_found", "unavailable"],
    handle: async ({ scope, principal, query, headers }) => {
      requireEventStream(headers.accept);
      const topics = topicsOf(query.topics);
      for (const { kind } of topics) {
        const beside = neededBeside[kind];
        if (beside !== undefined && principal !== null) authorize(principal, beside);
      }
      const stream = streams.begin({
        callerId: principal?.keyId ?? "",
        tenantId: principal?.tenantId ?? null,
        isCustomer: principal?.portal !== undefined,
        isAllowed: () => isStillAllowed(headers, options),
      });
      const since = resumedFrom(lastEventIdOf(headers), clock.now());
      if (since === "too_old") stream.send({ name: "reset", data: {} });
      const toJson = rowJson(query, scope);
      try {
        const watch = await services.live.watch(scope, topics, since === "too_old" ? null : since, {
          told: (news) => stream.send(eventOf(news, toJson)),
        });
        stream.whenEnded(() => watch.close());
      } catch (error) {
        stream.end();
        throw error;
      }
      return { status: 200, headers: eventStreamHeaders, open: (response) => stream.attach(response) };
    },
  });
}

/** Clients that do not expect a stream would hang. */
function requireEventStream(accept: string | undefined): void {
  if (accept?.includes("text/event-stream") === true) return;
  throw new InvalidRequestError('This response is a stream. Send "Accept: text/event-stream".', [
    { field: "accept", message: "must name text/event-stream" },
  ]);
}

function topicsOf(texts: readonly string[]) {
  const topics = [...new Set(texts.flatMap((text) => text.split(",")))].map(parseLiveTopic);
  if (topics.length <= topicsMax) return topics;
  const message = `names more than ${topicsMax} topics`;
  throw new InvalidRequestError("The query of the URL is not valid.", [{ field: "topics", message }]);
}

function lastEventIdOf(headers: Call["headers"]): string | undefined {
  const value = headers["last-event-id"];
  return typeof value === "string" ? value : undefined;
}

/**
 * Whether the client may still use the stream. Since it was opened, the key may have been revoked, or the session may
 * have ended.
 */
async function isStillAllowed(headers: Call["headers"], options: ApiOptions): Promise<boolean> {
  try {
    authorize(await principalOf(headers, options), needed);
    return true;
  } catch (error) {
    if (error instanceof PosthornError) return false;
    throw error;
  }
}

async function principalOf(
  headers: Call["headers"],
  { services, dashboard }: ApiOptions,
): Promise<Principal> {
  const token = portalToken(headers);
  if (token !== null) return (await authenticateCustomer(token, services.portalSessions)).principal;
  return authenticate("GET", headers, services.apiKeys, dashboard?.sessions ?? null).principal;
}

function eventOf(news: LiveNews, toJson: ReturnType<typeof rowJson>): StreamEvent {
  const topic = liveTopicText(news.topic);
  if (news.kind === "reset") return { name: "reset", data: { topic } };
  if (news.kind === "operation")
    return { name: "operation", data: { topic, operation: operationJson(news.operation) } };
  if (news.kind === "problems")
    return { name: "problems", data: { topic, rows: news.rows.map(deliveryProblemJson) } };
  if (news.kind === "alerts") return { name: "alerts", data: { topic, rows: news.rows.map(alertJson) } };
  if (news.kind === "stats") return { name: "stats", data: { topic, rows: news.rows.map(pointJson) } };
  if (news.kind === "requests") {
    const rows = news.rows.map(gatewayRequestJson);
    return { name: "requests", data: { topic, rows, left_out: news.leftOut } };
  }
  const rows = news.rows.map(toJson);
  return { name: news.topic.kind, data: { topic, rows, left_out: news.leftOut } };
}
