/** Every route of the server. */
import type { ApiOptions } from "./context.ts";
import { createCursorCodec } from "./cursors.ts";
import { createDocsPage } from "./docs/api-page.ts";
import { createErrorsPage } from "./docs/errors-page.ts";
import { htmlAnswer } from "./docs/html.ts";
import { createIdempotencyPage } from "./docs/idempotency-page.ts";
import { createOpenApi } from "./openapi.ts";
import { createPager } from "./paging.ts";
import type { Route } from "./route.ts";
import { alertRoutes } from "./routes/alerts.ts";
import { apiKeyRoutes } from "./routes/api-keys.ts";
import { auditLogRoute } from "./routes/audit-log.ts";
import { dashboardRoutes } from "./routes/dashboard.ts";
import { deadLetterRoutes } from "./routes/dead-letters.ts";
import { deliveryRoutes } from "./routes/deliveries.ts";
import { deliveryProblemRoutes } from "./routes/delivery-problems.ts";
import { eventTypeRoutes } from "./routes/event-types.ts";
import { eventRoutes } from "./routes/events.ts";
import { notificationRoutes } from "./routes/notifications.ts";
import { operationRoutes } from "./routes/operations.ts";
import { connectionRoutes } from "./routes/connections.ts";
import { filterRoutes } from "./routes/filters.ts";
import { requestRoutes } from "./routes/requests.ts";
import { sourceRoutes } from "./routes/sources.ts";
import { portalRoutes } from "./routes/portal.ts";
import { portalSessionRoutes } from "./routes/portal-sessions.ts";
import { portalSettingsRoutes } from "./routes/portal-settings.ts";
import { profileRoutes } from "./routes/profiles.ts";
import { sourceTypeRoutes } from "./routes/source-types.ts";
import { searchRoutes } from "./routes/search.ts";
import { secretRoutes } from "./routes/secrets.ts";
import { streamRoute } from "./routes/stream.ts";
import { statisticsRoutes } from "./routes/statistics.ts";
import { documentationRoutes, systemReportRoute, systemRoutes } from "./routes/system.ts";
import { tenantRoutes } from "./routes/tenants.ts";
import { webhookActionRoutes } from "./routes/webhook-actions.ts";
import { webhookCheckRoutes } from "./routes/webhook-checks.ts";
import { webhookHistoryRoutes } from "./routes/webhook-history.ts";
import { webhookDocsRoutes } from "./routes/webhook-docs.ts";
import { webhookVerificationRoutes } from "./routes/webhook-verification.ts";
import { webhookRoutes } from "./routes/webhooks.ts";
import type { OpenStreams } from "./stream/open-streams.ts";

export function createRoutes(options: ApiOptions, streams: OpenStreams): readonly Route[] {
  const pager = createPager(createCursorCodec(options.cursorKey));
  const routes: Route[] = [
    ...eventRoutes(options, pager),
    ...webhookRoutes(options, pager),
    ...webhookActionRoutes(options),
    ...webhookCheckRoutes(options),
    ...webhookHistoryRoutes(options, pager),
    ...webhookVerificationRoutes(options),
    ...secretRoutes(options),
    ...deliveryRoutes(options, pager),
    ...deadLetterRoutes(options, pager),
    ...operationRoutes(options, pager),
    ...deliveryProblemRoutes(options, pager),
    ...eventTypeRoutes(options, pager),
    ...webhookDocsRoutes(options),
    ...tenantRoutes(options, pager),
    ...apiKeyRoutes(options, pager),
    ...alertRoutes(options, pager),
    ...notificationRoutes(options, pager),
    auditLogRoute(options, pager),
    ...searchRoutes(options),
    streamRoute(options, streams),
    ...statisticsRoutes(options),
    ...profileRoutes(options, pager),
    ...sourceTypeRoutes(options, pager),
    ...sourceRoutes(options, pager),
    ...connectionRoutes(options, pager),
    ...requestRoutes(options, pager),
    ...filterRoutes(options),
    ...portalSessionRoutes(options, pager),
    ...portalSettingsRoutes(options),
    ...portalRoutes(options),
    ...systemRoutes(options),
    ...dashboardRoutes(options),
    systemReportRoute(options),
  ];
  // The document describes these routes too, so it can be built only once all routes are known.
  const openApi = once(() => createOpenApi(routes, options));
  const openApiText = once(() => JSON.stringify(openApi()));
  const docs = once(() => htmlAnswer(createDocsPage(openApi()), { canTry: true }));
  const errors = once(() => htmlAnswer(createErrorsPage()));
  const idempotency = once(() => htmlAnswer(createIdempotencyPage()));
  const pages = { openApi: () => ({ status: 200, text: openApiText() }), docs, errors, idempotency };
  const documentation = documentationRoutes(pages, options.basePath ?? "");
  routes.push(...documentation);
  return routes;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
