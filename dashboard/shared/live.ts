/**
 * Subscribes to `GET /v1/stream` and refreshes affected queries, at most once a second. If no stream opens, or a
 * proxy buffers it, pages poll. Paused and hidden pages have no stream.
 */
import { computed, effect, signal } from "@preact/signals";
import { createParser } from "eventsource-parser";
import { bearer, isSessionOver, urlOf } from "./api.ts";
import { isLive, isPaused, refreshLive, type OwnNews } from "./queries.ts";

/** The server sends a comment every 15 seconds. A longer silence means that a proxy buffers the stream. */
const silenceMaxMs = 20_000;
/** Delay before reconnecting. It doubles with each failed attempt. */
const retryMinMs = 1_000;
const retryMaxMs = 60_000;
const refreshPauseMs = 1_000;

type News = OwnNews | "other";
/** Everything is refreshed after a gap in the stream. */
const anything: readonly News[] = ["problems", "stats", "other"];

function newsOf(event: string | undefined): readonly News[] {
  if (event === "reset") return anything;
  if (event === "stats") return ["stats"];
  return event === "problems" ? ["problems", "other"] : ["other"];
}

const isVisible = signal(document.visibilityState === "visible");
document.addEventListener("visibilitychange", () => {
  isVisible.value = document.visibilityState === "visible";
});

const isWanted = computed(() => isVisible.value && !isPaused.value && !isSessionOver.value);

/** Refreshes queries on updates of these topics, such as `deliveries`. Returns a function that stops refreshing. */
export function followNews(topics: readonly string[]): () => void {
  return effect(() => {
    if (!isWanted.value) return undefined;
    const stop = new AbortController();
    void keepListening(topics, stop.signal);
    return () => {
      stop.abort();
      isLive.value = false;
    };
  });
}

async function keepListening(topics: readonly string[], stopped: AbortSignal): Promise<void> {
  const refresher = refresherUntil(stopped);
  let retryMs = retryMinMs;
  while (!stopped.aborted) {
    const hasOpened = await listen(topics, { stopped, onNews: refresher });
    if (stopped.aborted) return;
    isLive.value = false;
    retryMs = hasOpened ? retryMinMs : Math.min(retryMaxMs, retryMs * 2);
    await pause(retryMs, stopped);
    // Catch up on updates missed while disconnected.
    refresher(anything);
  }
}

/** Reads the stream until it ends. Returns whether it delivered data, which shows that no proxy buffers it. */
async function listen(
  topics: readonly string[],
  { stopped, onNews }: { readonly stopped: AbortSignal; readonly onNews: (news: readonly News[]) => void },
): Promise<boolean> {
  const silence = new AbortController();
  const stop = AbortSignal.any([stopped, silence.signal]);
  let timer = setTimeout(() => silence.abort(), silenceMaxMs);
  const parser = createParser({ onEvent: ({ event }) => onNews(newsOf(event)) });
  try {
    const response = await fetch(urlOf({ path: "v1/stream", query: { topics } }), {
      headers: { "accept": "text/event-stream", ...callerHeaders() },
      signal: stop,
    });
    if (response.status === 401) isSessionOver.value = true;
    if (!response.ok || response.body === null) return false;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), silenceMaxMs);
      if (!stopped.aborted) isLive.value = true;
      parser.feed(read.value);
    }
    return true;
  } catch {
    // The server did not respond, the connection broke, or the stream was silent for too long.
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function callerHeaders(): Record<string, string> {
  const { token } = bearer;
  return token === null ? { "x-posthorn-ui": "poll" } : { authorization: `Bearer ${token}` };
}

/** Refreshes queries. Updates during a refresh are batched into the next one, a second later. */
function refresherUntil(stopped: AbortSignal): (news: readonly News[]) => void {
  let waiting = new Set<News>();
  let isBusy = false;
  const run = async () => {
    isBusy = true;
    while (waiting.size > 0 && !stopped.aborted) {
      const heard = waiting;
      waiting = new Set();
      await refreshLive(heard);
      await pause(refreshPauseMs, stopped);
    }
    isBusy = false;
  };
  return (news) => {
    for (const one of news) waiting.add(one);
    if (!isBusy) void run();
  };
}

function pause(ms: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    stopped.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
