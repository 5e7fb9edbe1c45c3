/** The address holds what is shown: filters, ranges, order. What it holds besides is kept as it is. */
import { useLocation } from "preact-iso";
import { pagePath } from "./root.ts";

export interface Address {
  /** Below `/ui/`, without slashes at its ends. */
  readonly page: string;
  readonly params: URLSearchParams;
  /** Changes parameters; an empty list removes one. Typing replaces the entry of the history, a choice adds one. */
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

/** Of the page that is shown: a dozen parts of it ask, with every change. Nobody changes them in place. */
function paramsOf(url: string): URLSearchParams {
  if (parsed.url !== url) parsed = { url, params: new URL(url, location.origin).searchParams };
  return parsed.params;
}
