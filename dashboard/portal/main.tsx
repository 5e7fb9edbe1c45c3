import { render } from "preact";
import { lazy, LocationProvider, Route, Router, useLocation } from "preact-iso";
import { useEffect } from "preact/hooks";
import { followNews } from "../shared/live.ts";
import { root } from "../shared/root.ts";
import { Announcer } from "../shared/ui/announcer.tsx";
import { ActivityPage } from "./activity/delivery-list.tsx";
import { MessagePage } from "./activity/message-page.tsx";
import { AddEndpointPage } from "./endpoint/add-endpoint-page.tsx";
import { EndpointPage } from "./endpoint/endpoint-page.tsx";
import { EndpointsPage } from "./endpoint/endpoints-page.tsx";
import { EventTypesPage } from "./event-types/event-types.tsx";
import { tellHeight, tellHost } from "./shell/host.ts";
import { t } from "./shell/language.ts";
import { portalPath, routePath, routing } from "./shell/paths.ts";
import { enter, entryProblem, may, noun, session } from "./shell/session.ts";
import { Shell } from "./shell/shell.tsx";

/** Loaded on demand, to keep the initial bundle small. */
const HelpPage = lazy(() => import("./help/help-page.tsx").then((page) => page.HelpPage));
const NotificationsPage = lazy(() =>
  import("./notifications/notifications-page.tsx").then((page) => page.NotificationsPage),
);

function App() {
  return (
    <>
      <Announcer />
      <LocationProvider scope={routePath("")}>
        <Inside />
      </LocationProvider>
    </>
  );
}

function Inside() {
  const view = session.value;
  const { url, path, route } = useLocation();
  useEffect(() => {
    routing.go = (target) => route(target, true);
    const { first } = routing;
    if (first.path !== null) route(first.path, true);
    first.path = null;
  }, []);
  useEffect(() => {
    tellHost({ type: "posthorn:navigate", path: hostPath(url) });
  }, [url, view === null || view === undefined]);
  useEffect(() => {
    document.title = view?.theme.product_name ?? noun("title.many");
  }, [view, path]);
  const hearsNews = view !== null && view !== undefined && may("deliveries:read");
  useEffect(() => (hearsNews ? followNews(["deliveries"]) : undefined), [hearsNews]);
  if (view === undefined) return <p class="portal-wait soft">{t("loading")}</p>;
  if (view === null) return <NoSession />;
  return (
    <Shell view={view}>
      <Router>
        <Route path={routePath("")} component={EndpointsPage} />
        <Route path={routePath("endpoints")} component={EndpointsPage} />
        <Route path={routePath("add")} component={AddEndpointPage} />
        <Route path={routePath("endpoints/:id")} component={EndpointPage} />
        <Route path={routePath("activity")} component={ActivityPage} />
        <Route path={routePath("messages/:id")} component={MessagePage} />
        <Route path={routePath("event-types")} component={EventTypesPage} />
        <Route path={routePath("notifications")} component={NotificationsPage} />
        <Route path={routePath("help")} component={HelpPage} />
        <Route default component={NotFoundPage} />
      </Router>
    </Shell>
  );
}

/** Path that the host page may include in its own URL: page and parameters, without the session. */
function hostPath(url: string): string {
  const { pathname, searchParams } = new URL(url, location.origin);
  searchParams.delete("session");
  const query = searchParams.toString();
  const page = pathname.slice(`${root.pathname}portal/`.length);
  return query === "" ? page : `${page}?${query}`;
}

function NoSession() {
  const isRefused = entryProblem.value === "refused";
  return (
    <main class="portal-wait">
      <h1>{t(isRefused ? "entry.refused.title" : "entry.none.title")}</h1>
      <p>{t(isRefused ? "entry.refused.text" : "entry.none.text")}</p>
    </main>
  );
}

function NotFoundPage() {
  return (
    <>
      <h1>{t("notFound.title")}</h1>
      <p>
        <a href={portalPath("")}>{noun("title.many")}</a>
      </p>
    </>
  );
}

const place = document.querySelector("#app");
if (place !== null) render(<App />, place);
void enter();
tellHeight();
