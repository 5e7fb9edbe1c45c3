import { root } from "../../shared/root.ts";

/** The session id stays in the URL, because the server uses it to set `frame-ancestors`. */
const sessionId = new URLSearchParams(location.search).get("session");

type Params = Readonly<Record<string, string | null>>;

/** Path of a portal page: `portalPath("activity")` returns `/portal/activity`. */
export function portalPath(page: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...params, session: sessionId }))
    if (value !== null && value !== "") query.set(name, value);
  const text = query.toString();
  return `${root.pathname}portal/${page}${text === "" ? "" : `?${text}`}`;
}

/** Path without query, for route matching. */
export function routePath(page: string): string {
  return `${root.pathname}portal/${page}`;
}

/** `go` is set by the router. The host may navigate before that, so until then the last path is stored in `first`. */
export const routing: { go: (path: string) => void; readonly first: { path: string | null } } = {
  go: (path) => (routing.first.path = path),
  first: { path: null },
};

/** Navigates to a page named by the host, such as `activity` or `endpoints/0198…`. */
export function goTo(page: string): void {
  const [path = "", query = ""] = page.replace(/^\/+/, "").split("?");
  routing.go(portalPath(path, Object.fromEntries(new URLSearchParams(query))));
}
