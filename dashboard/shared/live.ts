/**
 * Hears of news from `GET /v1/stream` and asks again for what they concern, at most once a second. Where no stream opens, or
 * a proxy keeps it back, the pages poll. Paused and hidden pages have no stream.
 */
import { computed, effect, signal } from "@preact/signals";
import { createParser } from "eventsource-parser";
import { bearer, isSessionOver, urlOf } from "./api.ts";
import { isLive, isPaused, refreshLive, type OwnNews } from "./queries.ts";

/** The server sends a comment every 15 seconds; one that is silent for longer is kept back on its way. */
const silenceMaxMs = 20_000;
/** After a stream that ended. It doubles with each that does not open. */
const retryMinMs = 1_000;
const retryMaxMs = 60_000;
const refreshPauseMs = 1_000;

type News = OwnNews | "other";
/** After a gap, when it is not known what happened. */
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

/** Until it is called back: news of these topics, such as `deliveries`, renew what is shown. */
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
    // What happened while nobody listened.
    refresher(anything);
  }
}

/** Until the stream ends. Answers whether it was one, and none that a proxy kept back. */
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
    // Nobody answers, it was cut, or it was silent for too long.
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function callerHeaders(): Record<string, string> {
  const { token } = bearer;
  return token === null ? { "x-posthorn-ui": "poll" } : { authorization: `Bearer ${token}` };
}

/** Asks again for what is shown; news that come meanwhile wait for the next time, a second later. */
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
