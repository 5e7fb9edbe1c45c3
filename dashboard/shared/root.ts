/**
 * Where the server is. Scripts lie in `ui/assets/` below it, so this holds under any prefix of a proxy, whether the proxy
 * takes the prefix away or not.
 */
export const root: URL = new URL("../../", import.meta.url);

/** Path of a page of the dashboard: `pagePath("deliveries")` is `/ui/deliveries`. */
export function pagePath(page: string): string {
  return `${root.pathname}ui/${page}`;
}
