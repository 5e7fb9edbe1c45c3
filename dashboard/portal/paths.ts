import { root } from "../shared/root.ts";

/** Which pages may show this one in a frame, the server reads from its address, so the id of the session stays in it. */
const sessionId = new URLSearchParams(location.search).get("session");

type Params = Readonly<Record<string, string | null>>;

/** Address of a page of the portal: `portalPath("activity")` is `/portal/activity`. */
export function portalPath(page: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...params, session: sessionId }))
    if (value !== null && value !== "") query.set(name, value);
  const text = query.toString();
  return `${root.pathname}portal/${page}${text === "" ? "" : `?${text}`}`;
}

/** Without the query: what routes are compared with. */
export function routePath(page: string): string {
  return `${root.pathname}portal/${page}`;
}

/** Filled in by the router; the page around may lead somewhere before that. */
export const routing: { go: (path: string) => void; readonly first: { path: string | null } } = {
  go: (path) => (routing.first.path = path),
  first: { path: null },
};

/** To a page that the host names, such as `activity` or `endpoints/0198…`. */
export function goTo(page: string): void {
  const [path = "", query = ""] = page.replace(/^\/+/, "").split("?");
  routing.go(portalPath(path, Object.fromEntries(new URLSearchParams(query))));
}
