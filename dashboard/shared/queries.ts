/**
 * What is read from the server: TanStack Query keeps answers, asks once for what several parts show, keeps old data when a
 * refresh fails, and asks again: soon where there is no stream of news, seldom where there is one. Pausing stops all of that.
 */
import { QueryClient, QueryObserver, keepPreviousData } from "@tanstack/query-core";
import type { QueryObserverResult } from "@tanstack/query-core";
import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { callApi, isSessionOver } from "./api.ts";
import type { ApiAnswer, ApiCall, ApiError } from "./api.ts";

/** While true nothing is asked by itself, also not when the window gets the focus. */
export const isPaused = signal(false);

/** Whether news come by a stream. */
export const isLive = signal(false);

const pollEveryMs = 5_000;
/** Beside a stream, for what it does not tell of. */
const pollWhileLiveMs = 15_000;
/** Beside a stream that tells of just this. */
const pollWhileToldMs = 60_000;

/** Events of the stream for what is made of them alone. The rest is renewed by any event but `stats`. */
export type OwnNews = "problems" | "stats";

export const queryClient: QueryClient = new QueryClient({
  defaultOptions: {
    queries: {
      retry: false,
      refetchOnReconnect: () => !isPaused.value,
      refetchOnWindowFocus: () => !isPaused.value,
      placeholderData: keepPreviousData,
    },
  },
});

// From here on it hears when the window gets the focus and when the network is back.
queryClient.mount();

export interface Loaded<T> {
  readonly data: T | null;
  readonly text: string;
  readonly error: ApiError | null;
  /** When `data` came, in Unix milliseconds; 0 before. */
  readonly loadedAt: number;
  readonly isLoading: boolean;
  /** `data` answers an earlier call, while this one is under way. */
  readonly isOld: boolean;
}

/** The answer to a GET, and what it becomes. Null asks nothing. */
export function useApi<T>(
  call: Pick<ApiCall, "path" | "query"> | null,
  { everyMs: wanted, news }: { readonly everyMs?: number | false; readonly news?: OwnNews } = {},
): Loaded<T> {
  const key = JSON.stringify(call);
  const whileLiveMs = news === undefined ? pollWhileLiveMs : pollWhileToldMs;
  const everyMs = wanted ?? (isLive.value ? whileLiveMs : pollEveryMs);
  const paused = isPaused.value || isSessionOver.value;
  const observer = useMemo(
    () => new QueryObserver<ApiAnswer<T>, ApiError>(queryClient, { queryKey: ["none"], enabled: false }),
    [],
  );
  useMemo(() => {
    observer.setOptions({
      queryKey: [key],
      enabled: call !== null,
      refetchInterval: paused ? false : everyMs,
      meta: { followsNews: wanted === undefined, news: news ?? "other" },
      queryFn: ({ signal: aborted }) => callApi<T>({ ...(call ?? { path: "" }), signal: aborted }),
    });
  }, [key, paused, everyMs]);
  const [, show] = useState<QueryObserverResult<ApiAnswer<T>, ApiError> | null>(null);
  useEffect(() => observer.subscribe(show), [observer]);
  const result = observer.getCurrentResult();
  return {
    data: result.data?.value ?? null,
    text: result.data?.text ?? "",
    error: result.error,
    loadedAt: result.dataUpdatedAt,
    isLoading: result.isPending && result.fetchStatus === "fetching",
    isOld: result.isPlaceholderData,
  };
}

/** After news: what is shown and may have changed by them is asked for again. */
export async function refreshLive(news: ReadonlySet<OwnNews | "other">): Promise<void> {
  await queryClient.refetchQueries({
    type: "active",
    predicate: ({ meta }) => meta?.["followsNews"] === true && news.has(meta["news"] as OwnNews | "other"),
  });
}

/** After something was changed: everything that is shown is asked for again. */
export async function refreshAll(): Promise<void> {
  await queryClient.invalidateQueries();
}
