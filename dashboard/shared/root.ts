/**
 * Root URL of the server. It is derived from the script location in `ui/assets/`, so it works under any proxy prefix,
 * stripped or not.
 */
export const root: URL = new URL("../../", import.meta.url);

/** Path of a page of the dashboard: `pagePath("deliveries")` returns `/ui/deliveries`. */
export function pagePath(page: string): string {
  return `${root.pathname}ui/${page}`;
}
