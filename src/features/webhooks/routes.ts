import type { ApiOptions } from "../../http/context.ts";
import { filtersOf, formatInstantOrNull, inputOf } from "../../http/mapping.ts";
import { pageLimitDefault, type Pager } from "../../http/paging.ts";
import { PlainRoutes } from "../../http/plain-routes.ts";
import { defineRoute, type Route } from "../../http/route.ts";
import type { WaitingCount } from "../../ports/store/history.ts";
import type { StoredHistoryEntry } from "../../ports/store/webhooks.ts";
import { rotateFields } from "../../resources/actions.ts";
import { closed, idParam } from "../../resources/schema.ts";
import {
  historyQuerySchema,
  publicKeySchema,
  revisionListSchema,
  rotateInputSchema,
  secretSchema,
  timelineSchema,
} from "../../resources/webhook-state.ts";
import {
  webhookFields,
  webhookFilters,
  webhookListSchema,
  webhookQuerySchema,
  webhookResource,
  webhookSchema,
} from "../../resources/webhook.ts";
import type { Scope, WebhookInput, WebhookView } from "../services.ts";
import { webhookStatisticsJson, webhookWaitingJson } from "../statistics/routes.ts";
import { revisionJson, secretJson, timelineJson, webhookJson } from "./views.ts";

export const webhookParams = closed({ id: idParam("the webhook") });

export function plainWebhookRoutes({ services: { webhooks } }: ApiOptions) {
  return new PlainRoutes(
    webhookResource,
    (scope, id) => webhooks.get(scope, id),
    (view) => webhookJson(view),
  );
}

export function webhookRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  const { services } = options;
  const { webhooks } = services;
  const routes = plainWebhookRoutes(options);
  const update = (scope: Scope, id: string, input: WebhookInput) => webhooks.update(scope, { id, input });
  const updating = {
    access: "manage",
    capability: "endpoints:write",
    description: "Omitted fields keep their values, for both PUT and PATCH.",
    errors: ["not_found", "conflict", "limit_reached", "secret_in_use"],
  } as const;
  return [
    createRoute(options),
    defineRoute({
      method: "GET",
      path: "/v1/webhooks",
      operationId: "listWebhooks",
      tag: "Webhooks",
      summary: "List webhooks",
      description:
        "If another process serves a webhook, its recovery may be shown up to a minute late; other changes are shown immediately.",
      access: "read",
      capability: "endpoints:read",
      query: webhookQuerySchema,
      answers: { 200: { description: "A page of webhooks.", schema: webhookListSchema } },
      errors: ["invalid_cursor"],
      handle: async ({ scope, query }) => {
        const filters = filtersOf(webhookFilters, query);
        const listing = { tenantId: scope.tenantId, route: "webhooks", filters };
        const { views, next, isComplete, searchedTo, rankedAt, waiting } = await webhooks.list(scope, {
          ...filters,
          limit: query.limit ?? pageLimitDefault,
          offset: query.offset ?? 0,
          after: pager.after(query, listing),
        });
        const asked = (query.include ?? []).flatMap((names) => names.split(","));
        const beside = await besideRows(views, services, asked, waiting);
        const counts = asked.includes("health_counts") ? await webhooks.healthCounts(scope, filters) : null;
        const data = views.map((view) => Object.assign(webhookJson(view), beside(view)));
        return {
          status: 200,
          body: {
            data,
            next_cursor: pager.cursorAfter(next, listing),
            searched_to: formatInstantOrNull(searchedTo),
            complete: isComplete,
            ranked_at: formatInstantOrNull(rankedAt),
            ...(counts !== null && { health_counts: counts }),
          },
        };
      },
    }),
    routes.get({
      access: "read",
      capability: "endpoints:read",
      answer: "The webhook; its secret is masked.",
    }),
    // PUT merges like PATCH, so that fields that a client omits are not reset.
    routes.update(updating, update, "PUT"),
    routes.update({ ...updating, operationId: "patchWebhook" }, update),
    routes.delete(
      {
        access: "manage",
        capability: "endpoints:delete",
        description:
          "Its waiting deliveries are cancelled. A delivery in flight is cancelled too, but counts as a success if the receiver accepts it.",
      },
      (scope, id) => webhooks.delete(scope, id),
      ["url", "events", "description"],
    ),
  ];
}

function createRoute(options: ApiOptions): Route {
  const routes = plainWebhookRoutes(options);
  return defineRoute({
    method: "POST",
    path: "/v1/webhooks",
    operationId: "createWebhook",
    tag: "Webhooks",
    summary: "Create a webhook",
    description:
      "The create response includes the signing secret. To read it later, call GET /v1/webhooks/{id}/secret.",
    access: "manage",
    capability: "endpoints:write",
    body: webhookResource.schemas.create,
    answers: { 201: { description: "The webhook, with its secret.", schema: webhookSchema } },
    errors: ["conflict", "secret_in_use", "limit_reached"],
    answerIsSecret: true,
    audit: { action: "webhook.create", target: "webhook" },
    handle: async ({ scope, body }) => {
      const input = inputOf(webhookFields, routes.permitted(scope, body));
      const { view, secret } = await options.services.webhooks.create(scope, input);
      const headers = { location: `/v1/webhooks/${view.webhook.id}`, "cache-control": "no-store" };
      return { status: 201, headers, body: webhookJson(view, secret) };
    },
  });
}

/** Reads the optional fields of all rows of a page at once. */
async function besideRows(
  views: readonly WebhookView[],
  services: ApiOptions["services"],
  asked: readonly string[],
  /** Backlog counts that were used for sorting. The page must show the same counts. */ known: ReadonlyMap<
    string,
    WaitingCount | null
  > | null,
): Promise<(view: WebhookView) => { readonly stats?: unknown; readonly backlog?: unknown }> {
  const ids = views.map(({ webhook }) => webhook.id);
  const stats = asked.includes("stats") ? await services.statistics.ofWebhooks(ids) : null;
  const waiting = asked.includes("backlog") ? (known ?? (await services.webhooks.waitingOf(ids))) : null;
  return ({ webhook: { id } }) => {
    const counted = stats?.get(id);
    return {
      ...(stats !== null && { stats: counted === undefined ? null : webhookStatisticsJson(counted) }),
      ...(waiting !== null && { backlog: webhookWaitingJson(waiting.get(id)) }),
    };
  };
}

export function secretRoutes(options: ApiOptions): readonly Route[] {
  const { webhooks } = options.services;
  const routes = plainWebhookRoutes(options);
  return [
    routes.action(
      "read_secret",
      {
        method: "GET",
        place: "/secret",
        operationId: "getWebhookSecret",
        summary: "Get the signing secret",
        access: "manage",
        capability: "secrets:read",
        answer: "The secret in clear text, and the old one while both are valid.",
        schema: secretSchema,
        answerIsSecret: true,
        // Revealing a secret is audited like a change.
        audit: { action: "webhook.read_secret", target: "webhook", before: routes.shown },
      },
      async (scope, id) => secretJson(await webhooks.secret(scope, id)),
    ),
    routes.action(
      "rotate_secret",
      {
        place: "/secret/rotate",
        operationId: "rotateWebhookSecret",
        summary: "Rotate the signing secret",
        capability: "secrets:rotate",
        takes: rotateFields,
        body: rotateInputSchema,
        bodyOptional: true,
        answer:
          "Responds with the new secret, and the old one while both are valid. If a webhook signs only with a key pair, the pair " +
          "is replaced by a separate one and `secret` is null: get the new public key.",
        schema: secretSchema,
        errors: ["not_found", "rotation_in_progress", "secret_in_use"],
        answerIsSecret: true,
      },
      async (scope, id, input) => secretJson(await webhooks.rotateSecret(scope, { id, ...input })),
    ),
    routes.action(
      "public_key",
      {
        method: "GET",
        place: "/public-key",
        operationId: "getWebhookPublicKey",
        summary: "Get the public key of the asymmetric signatures",
        capability: "endpoints:read",
        answer: "The key that verifies `v1a` and `rfc9421-ed25519`.",
        schema: publicKeySchema,
      },
      async (scope, id) => {
        const { publicKey, jwk } = await webhooks.publicKey(scope, id);
        return { public_key: publicKey, jwk };
      },
    ),
  ];
}

const kept = "The latest 100 revisions and 100 other entries of each webhook are kept until it is deleted.";

/** The history and the revisions of a webhook. */
export function webhookHistoryRoutes(options: ApiOptions, pager: Pager): readonly Route[] {
  return [
    historyRoute(options, pager, {
      path: "/v1/webhooks/{id}/timeline",
      operationId: "listWebhookTimeline",
      summary: "List the history of a webhook, newest first",
      description: `Changes, pauses, enabling and disabling, and circuit changes: who made them, when and why. ${kept}`,
      answers: { 200: { description: "A page of history entries.", schema: timelineSchema } },
      revisionsOnly: false,
      toJson: timelineJson,
    }),
    historyRoute(options, pager, {
      path: "/v1/webhooks/{id}/revisions",
      operationId: "listWebhookRevisions",
      summary: "List the revisions of a webhook, newest first",
      description: `One entry for each value of \`revision\`: what changed, and who changed it. ${kept}`,
      answers: { 200: { description: "A page of revisions.", schema: revisionListSchema } },
      revisionsOnly: true,
      toJson: revisionJson,
    }),
  ];
}

interface HistoryRoute extends Pick<Route, "path" | "operationId" | "summary" | "description" | "answers"> {
  readonly revisionsOnly: boolean;
  readonly toJson: (entry: StoredHistoryEntry) => Record<string, unknown>;
}

function historyRoute(
  { services }: ApiOptions,
  pager: Pager,
  { revisionsOnly, toJson, ...route }: HistoryRoute,
): Route {
  return defineRoute({
    ...route,
    method: "GET",
    tag: "Webhooks",
    access: "read",
    capability: "endpoints:read",
    params: webhookParams,
    query: historyQuerySchema,
    errors: ["not_found", "invalid_cursor"],
    handle: async ({ scope, params: { id: webhookId }, query }) => {
      const listing = { tenantId: scope.tenantId, route: route.operationId, filters: { webhookId } };
      const page = pager.request(query, listing);
      const found = await services.webhooks.history(scope, { webhookId, revisionsOnly, page });
      return { status: 200, body: pager.answer(found, listing, toJson) };
    },
  });
}
