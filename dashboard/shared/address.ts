/** The URL stores the view: filters, ranges, sort order. Unknown parameters are kept. */
import { useLocation } from "preact-iso";
import { pagePath } from "./root.ts";

export interface Address {
  /** Path below `/ui/`, without leading or trailing slashes. */
  readonly page: string;
  readonly params: URLSearchParams;
  /**
   * Changes parameters. An empty list removes the parameter. `how` decides whether a history entry is added or
   * replaced.
   */
  readonly set: (changes: Readonly<Record<string, readonly string[]>>, how?: "push" | "replace") => void;
  readonly go: (path: string) => void;
}

export function useAddress(): Address {
  const { url, path, route } = useLocation();
  const searchParams = paramsOf(url);
  const page = path.slice(pagePath("").length);
  return {
    page,
    params: searchParams,
    set: (changes, how = "push") => {
      const next = new URLSearchParams(searchParams);
      for (const [name, values] of Object.entries(changes)) {
        next.delete(name);
        for (const value of values) next.append(name, value);
      }
      const query = next.size === 0 ? "" : `?${next.toString()}`;
      route(`${pagePath(page)}${query}`, how === "replace");
    },
    go: (target) => route(target),
  };
}

let parsed = { url: "", params: new URLSearchParams() };

/** Cached, because many components read it on each change. Callers must not mutate the result. */
function paramsOf(url: string): URLSearchParams {
  if (parsed.url !== url) parsed = { url, params: new URL(url, location.origin).searchParams };
  return parsed.params;
}
