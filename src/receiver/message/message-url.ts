/**
 * The path of a received URL, without authority, query and fragment. It is cut out and not parsed: what an attacker
 * sends must neither throw nor be normalised into the path of another endpoint.
 */
export function pathOf(url: string): string {
  const path = withoutAuthority(url).replace(/[?#].*$/s, "");
  return path === "" ? "/" : path;
}

/**
 * The path of an endpoint in one spelling. Routers take `/Hooks/`, `//hooks` and `/hook%73` for `/hooks`, and no signature
 * covers the path in most schemes: whoever captured a message could send it once to each spelling.
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

/** Whether the URL carries a bearer token (CEW-3.2-4, RFC 6750 2.3). */
export function hasTokenInQuery(url: string): boolean {
  return queryOf(url).has("access_token");
}

/** The URL without its bearer token, for keeping and for logs. */
export function withoutToken(url: string): string {
  if (!hasTokenInQuery(url)) return url;
  const query = queryOf(url);
  query.delete("access_token");
  return query.size === 0 ? pathOf(url) : `${pathOf(url)}?${query.toString()}`;
}

/** The parameters of the query; none when there is no query. */
export function queryOf(url: string): URLSearchParams {
  return new URLSearchParams(/^[^?#]*\?([^#]*)/.exec(url)?.[1] ?? "");
}

function withoutAuthority(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, "");
}
