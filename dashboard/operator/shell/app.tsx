import { lazy, LocationProvider, Route, Router } from "preact-iso";
import { useEffect } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { followNews } from "../../shared/live.ts";
import { pagePath } from "../../shared/root.ts";
import { session } from "../../shared/session.ts";
import { Announcer } from "../../shared/ui/announcer.tsx";
import { AlertsPage } from "../alerts/alerts-page.tsx";
import { AuditPage } from "../audit/audit-page.tsx";
import { DeadLettersPage } from "../delivery/dead-letters-page.tsx";
import { DeliveriesPage } from "../delivery/deliveries-page.tsx";
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
import { EditWebhookPage, NewWebhookPage } from "../webhook/webhook-edit-page.tsx";
import { WebhookPage } from "../webhook/webhook-page.tsx";
import { WebhooksPage } from "../webhook/webhooks-page.tsx";
import { KeySheet } from "./key-sheet.tsx";
import { listenToKeys } from "./keyboard.ts";
import { LoginPage, SessionEnd } from "./login.tsx";
import { navEntryAt } from "./navigation.ts";
import { Palette } from "./palette.tsx";
import { Shell } from "./shell.tsx";

/** Loaded on demand: most deployments do not use the gateway. */
const gatewayPage = (name: keyof typeof GatewayPages) =>
  lazy(() => import("../gateway/pages.tsx").then((pages) => pages[name]));
const SourcesPage = gatewayPage("SourcesPage");
const AddSourcePage = gatewayPage("AddSourcePage");
const SourcePage = gatewayPage("SourcePage");
const EditSourcePage = gatewayPage("EditSourcePage");
const SetUpSourcePage = gatewayPage("SetUpSourcePage");
const ConnectionsPage = gatewayPage("ConnectionsPage");
const NewConnectionPage = gatewayPage("NewConnectionPage");
const ConnectionPage = gatewayPage("ConnectionPage");
const RequestsPage = gatewayPage("RequestsPage");
const RequestPage = gatewayPage("RequestPage");

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

/** The stream covers the newest deliveries. A detail page subscribes to its own, which may be older. */
function topicsOf(page: string): readonly string[] {
  if (page === "") return [...always, "stats"];
  const id = /^(deliveries|operations)\/([\da-f-]{36})$/.exec(page);
  if (id === null) return ofGateway.test(page) ? [...always, "requests"] : always;
  return [...always, `${id[1] === "operations" ? "operation" : "delivery"}:${id[2] ?? ""}`];
}

function Pages() {
  return (
    <Router>
      <Route path={pagePath("")} component={OverviewPage} />
      <Route path={pagePath("deliveries")} component={DeliveriesPage} />
      <Route path={pagePath("deliveries/:id")} component={DeliveryPage} />
      <Route path={pagePath("events")} component={EventsPage} />
      <Route path={pagePath("events/:id")} component={EventPage} />
      <Route path={pagePath("webhooks")} component={WebhooksPage} />
      <Route path={pagePath("webhooks/new")} component={NewWebhookPage} />
      <Route path={pagePath("webhooks/:id")} component={WebhookPage} />
      <Route path={pagePath("webhooks/:id/edit")} component={EditWebhookPage} />
      <Route path={pagePath("sources")} component={SourcesPage} />
      <Route path={pagePath("sources/new")} component={AddSourcePage} />
      <Route path={pagePath("sources/:id")} component={SourcePage} />
      <Route path={pagePath("sources/:id/edit")} component={EditSourcePage} />
      <Route path={pagePath("sources/:id/set-up")} component={SetUpSourcePage} />
      <Route path={pagePath("connections")} component={ConnectionsPage} />
      <Route path={pagePath("connections/new")} component={NewConnectionPage} />
      <Route path={pagePath("connections/:id")} component={ConnectionPage} />
      <Route path={pagePath("requests")} component={RequestsPage} />
      <Route path={pagePath("requests/:id")} component={RequestPage} />
      <Route path={pagePath("alerts")} component={AlertsPage} />
      <Route path={pagePath("problems")} component={ProblemsPage} />
      <Route path={pagePath("problems/:id")} component={ProblemPage} />
      <Route path={pagePath("dead-letters")} component={DeadLettersPage} />
      <Route path={pagePath("operations")} component={OperationsPage} />
      <Route path={pagePath("operations/:id")} component={OperationPage} />
      <Route path={pagePath("event-types")} component={EventTypesPage} />
      <Route path={pagePath("event-types/:name")} component={EventTypePage} />
      <Route path={pagePath("event-types/:name/edit")} component={EditEventTypePage} />
      <Route path={pagePath("tenants")} component={TenantsPage} />
      <Route path={pagePath("audit")} component={AuditPage} />
      <Route path={pagePath("tenants/:id")} component={TenantPage} />
      <Route path={pagePath("tenants/:id/edit")} component={EditTenantPage} />
      <Route path={pagePath("portal")} component={PortalPage} />
      <Route path={pagePath("system")} component={SystemPage} />
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
