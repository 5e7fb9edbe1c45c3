/**
 * The path of a received URL, without authority, query and fragment. It is extracted without parsing, because input
 * from an attacker must neither throw nor be normalised to the path of another endpoint.
 */
export function pathOf(url: string): string {
  const path = withoutAuthority(url).replace(/[?#].*$/s, "");
  return path === "" ? "/" : path;
}

/**
 * The canonical path of an endpoint. Routers accept `/Hooks/`, `//hooks` and `/hook%73` for `/hooks`, and most
 * signature schemes do not cover the path. Without this, a captured message could be replayed once per spelling.
 */
export function canonicalPathOf(url: string): string {
  const segments: string[] = [];
  for (const raw of pathOf(url).split("/")) {
    const segment = decoded(raw).toLowerCase();
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(encodeURIComponent(segment.toWellFormed()));
  }
  return `/${segments.join("/")}`;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Whether the URL carries a bearer token (RFC 6750, section 2.3). */
export function hasTokenInQuery(url: string): boolean {
  return queryOf(url).has("access_token");
}

/** The URL without its bearer token, for storage and logs. */
export function withoutToken(url: string): string {
  if (!hasTokenInQuery(url)) return url;
  const query = queryOf(url);
  query.delete("access_token");
  return query.size === 0 ? pathOf(url) : `${pathOf(url)}?${query.toString()}`;
}

/** The parameters of the query; empty without a query. */
export function queryOf(url: string): URLSearchParams {
  return new URLSearchParams(/^[^?#]*\?([^#]*)/.exec(url)?.[1] ?? "");
}

function withoutAuthority(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "");
}
