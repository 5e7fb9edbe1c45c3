/** Every route of the server. */
import { alertRoutes } from "../features/alerts/routes.ts";
import { auditLogRoute } from "../features/audit/routes.ts";
import { deadLetterRoutes, deliveryRoutes } from "../features/deliveries/routes.ts";
import { eventTypeRoutes } from "../features/event-types/routes.ts";
import { eventRoutes } from "../features/events/routes.ts";
import { connectionRoutes, filterRoutes } from "../features/gateway/connection-routes.ts";
import { requestRoutes } from "../features/gateway/request-routes.ts";
import { sourceRoutes, sourceTypeRoutes } from "../features/gateway/source-routes.ts";
import type { OpenStreams } from "../features/live/event-streams.ts";
import { streamRoute } from "../features/live/routes.ts";
import { notificationRoutes } from "../features/notifications/routes.ts";
import { operationRoutes } from "../features/operations/routes.ts";
import { portalRoutes, portalSessionRoutes } from "../features/portal/routes.ts";
import { portalSettingsRoutes } from "../features/portal/settings-routes.ts";
import { deliveryProblemRoutes } from "../features/problems/routes.ts";
import { searchRoutes } from "../features/search/routes.ts";
import { statisticsRoutes } from "../features/statistics/routes.ts";
import { documentationRoutes, systemReportRoute, systemRoutes } from "../features/system/routes.ts";
import { apiKeyRoutes, tenantRoutes } from "../features/tenants/routes.ts";
import { webhookVerificationRoutes } from "../features/verification/routes.ts";
import { profileRoutes, webhookDocsRoutes } from "../features/webhook-docs/routes.ts";
import { webhookActionRoutes, webhookCheckRoutes } from "../features/webhooks/action-routes.ts";
import { secretRoutes, webhookHistoryRoutes, webhookRoutes } from "../features/webhooks/routes.ts";
import type { ApiOptions } from "./context.ts";
import { dashboardRoutes } from "./dashboard-routes.ts";
import { htmlAnswer } from "./docs/html.ts";
import { createDocsPage, createErrorsPage, createIdempotencyPage } from "./docs/pages.ts";
import { createOpenApi } from "./openapi.ts";
import { createCursorCodec, createPager } from "./paging.ts";
import type { Route } from "./route.ts";

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
  const openApi = once(() => createOpenApi(routes, options.dev, options.basePath));
  const openApiText = once(() => JSON.stringify(openApi()));
  const docs = once(() => htmlAnswer(createDocsPage(openApi()), true));
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
