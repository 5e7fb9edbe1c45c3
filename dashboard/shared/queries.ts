/**
 * Server queries with TanStack Query: cached responses, shared requests, old data kept when a refresh fails, and
 * polling, which is less frequent with a live stream. Pausing stops all requests.
 */
import { QueryClient, QueryObserver, keepPreviousData } from "@tanstack/query-core";
import type { QueryObserverResult } from "@tanstack/query-core";
import { type ReadonlySignal, signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { type ApiAnswer, type ApiCall, ApiError, callApi, isSessionOver } from "./api.ts";

/** While true, nothing is refreshed automatically, not even on window focus. */
export const isPaused = signal(false);

/** Whether a live stream is connected. */
export const isLive = signal(false);

const pollEveryMs = 5_000;
/** Polling interval with a live stream, for data that the stream does not cover. */
const pollWhileLiveMs = 15_000;
/** Polling interval with a live stream, for data that the stream covers. */
const pollWhileToldMs = 60_000;

/**
 * Stream topics with separate queries, which no other topic refreshes. All other queries are refreshed by messages on
 * any topic except `stats`.
 */
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

// Starts listening to window focus and network changes.
queryClient.mount();

export interface Loaded<T> {
  readonly data: T | null;
  readonly text: string;
  readonly error: ApiError | null;
  /** Time of the last response in Unix milliseconds, or 0 if none has arrived. */
  readonly loadedAt: number;
  readonly isLoading: boolean;
  /** Whether `data` belongs to an earlier call because the current call is still loading. */
  readonly isOld: boolean;
}

/** Returns the response to a GET request and keeps it up to date. If the call is null, nothing is requested. */
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

/** Refreshes visible queries that may be affected by stream events. */
export async function refreshLive(news: ReadonlySet<OwnNews | "other">): Promise<void> {
  await queryClient.refetchQueries({
    type: "active",
    predicate: ({ meta }) => meta?.["followsNews"] === true && news.has(meta["news"] as OwnNews | "other"),
  });
}

/** Refreshes all visible queries. Call this after a change. */
export async function refreshAll(): Promise<void> {
  await queryClient.invalidateQueries();
}

interface Busy {
  readonly isBusy: ReadonlySignal<boolean>;
  /** Error of the last call. */
  readonly error: ReadonlySignal<ApiError | null>;
  /** Runs a server call. Rethrows errors other than `ApiError`. */
  readonly run: (work: () => Promise<unknown>) => Promise<void>;
}

/** Busy state and last error of the calls of a button or form. */
export function useBusy(): Busy {
  const isBusy = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const run = async (work: () => Promise<unknown>) => {
    isBusy.value = true;
    error.value = null;
    try {
      await work();
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      error.value = thrown;
    } finally {
      isBusy.value = false;
    }
  };
  return { isBusy, error, run };
}
