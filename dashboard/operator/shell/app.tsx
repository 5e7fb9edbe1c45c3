import type { FunctionComponent } from "preact";
import { lazy, LocationProvider, Route, Router } from "preact-iso";
import { useEffect } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { followNews } from "../../shared/live.ts";
import { pagePath } from "../../shared/root.ts";
import { session } from "../../shared/session.ts";
import { Announcer } from "../../shared/ui/announcer.tsx";
import { AlertsPage } from "../alerts/alerts-page.tsx";
import { AuditPage } from "../audit/audit-page.tsx";
import { DeadLettersPage, DeliveriesPage } from "../delivery/deliveries-page.tsx";
import { DeliveryPage } from "../delivery/delivery-page.tsx";
import { EditEventTypePage, EventTypePage, EventTypesPage } from "../event-type/event-type-pages.tsx";
import { EventPage, EventsPage } from "../event/event-pages.tsx";
import type * as GatewayPages from "../gateway/pages.tsx";
import { OperationPage, OperationsPage } from "../operations/operation-pages.tsx";
import { OverviewPage } from "../overview/overview-page.tsx";
import { PortalPage } from "../portal/portal-page.tsx";
import { ProblemPage, ProblemsPage } from "../problems/problem-pages.tsx";
import { SystemPage } from "../system/system-page.tsx";
import { EditTenantPage, TenantPage, TenantsPage } from "../tenant/tenant-pages.tsx";
import { WebhookPage } from "../webhook/webhook-page.tsx";
import { EditWebhookPage, NewWebhookPage, WebhooksPage } from "../webhook/webhooks-page.tsx";
import { KeySheet } from "./key-sheet.tsx";
import { listenToKeys } from "./keyboard.ts";
import { LoginPage, SessionEnd } from "./login.tsx";
import { navEntryAt } from "./navigation.ts";
import { Palette } from "./palette.tsx";
import { Shell } from "./shell.tsx";

/** Loaded on demand: most deployments do not use the gateway. */
const gatewayPage = (name: keyof typeof GatewayPages) =>
  lazy(() => import("../gateway/pages.tsx").then((pages) => pages[name]));

const routes: readonly (readonly [path: string, page: FunctionComponent])[] = [
  ["", OverviewPage],
  ["deliveries", DeliveriesPage],
  ["deliveries/:id", DeliveryPage],
  ["events", EventsPage],
  ["events/:id", EventPage],
  ["webhooks", WebhooksPage],
  ["webhooks/new", NewWebhookPage],
  ["webhooks/:id", WebhookPage],
  ["webhooks/:id/edit", EditWebhookPage],
  ["sources", gatewayPage("SourcesPage")],
  ["sources/new", gatewayPage("AddSourcePage")],
  ["sources/:id", gatewayPage("SourcePage")],
  ["sources/:id/edit", gatewayPage("EditSourcePage")],
  ["sources/:id/set-up", gatewayPage("SetUpSourcePage")],
  ["connections", gatewayPage("ConnectionsPage")],
  ["connections/new", gatewayPage("NewConnectionPage")],
  ["connections/:id", gatewayPage("ConnectionPage")],
  ["requests", gatewayPage("RequestsPage")],
  ["requests/:id", gatewayPage("RequestPage")],
  ["alerts", AlertsPage],
  ["problems", ProblemsPage],
  ["problems/:id", ProblemPage],
  ["dead-letters", DeadLettersPage],
  ["operations", OperationsPage],
  ["operations/:id", OperationPage],
  ["event-types", EventTypesPage],
  ["event-types/:name", EventTypePage],
  ["event-types/:name/edit", EditEventTypePage],
  ["tenants", TenantsPage],
  ["tenants/:id", TenantPage],
  ["tenants/:id/edit", EditTenantPage],
  ["audit", AuditPage],
  ["portal", PortalPage],
  ["system", SystemPage],
];

export function App() {
  return (
    <>
      <Announcer />
      <LocationProvider scope={pagePath("")}>
        <Inside />
      </LocationProvider>
    </>
  );
}

function Inside() {
  const view = session.value;
  const { page, go } = useAddress();
  const isIn = view !== null;
  useEffect(() => {
    if (!isIn) return undefined;
    return listenToKeys((target) => go(pagePath(target)));
  }, [isIn]);
  const topics = topicsOf(page);
  useEffect(() => (isIn ? followNews(topics) : undefined), [isIn, topics.join()]);
  useEffect(() => {
    const title = navEntryAt(page)?.title ?? "Not found";
    document.title = view === null ? "Log in – Posthorn" : `${title} – Posthorn`;
  }, [page, view]);
  if (view === null) return <LoginPage />;
  return (
    <>
      <Shell view={view}>
        <Pages />
        <KeySheet />
        <SessionEnd view={view} />
      </Shell>
      <Palette />
    </>
  );
}

const always = ["deliveries", "problems"];
/** Pages that show received requests. */
const ofGateway = /^(requests|sources)(\/|$)/;

/**
 * Stream topics for a page. The topic `deliveries` covers only the newest deliveries, so a detail page also subscribes
 * to the topic of its delivery or operation.
 */
function topicsOf(page: string): readonly string[] {
  if (page === "") return [...always, "stats"];
  const id = /^(deliveries|operations)\/([\da-f-]{36})$/.exec(page);
  if (id === null) return ofGateway.test(page) ? [...always, "requests"] : always;
  return [...always, `${id[1] === "operations" ? "operation" : "delivery"}:${id[2] ?? ""}`];
}

function Pages() {
  return (
    <Router>
      {routes.map(([path, page]) => (
        <Route key={path} path={pagePath(path)} component={page} />
      ))}
      <Route default component={NotFoundPage} />
    </Router>
  );
}

function NotFoundPage() {
  return (
    <>
      <h1>Page not found</h1>
      <p>
        <a href={pagePath("")}>Overview</a>
      </p>
    </>
  );
}
