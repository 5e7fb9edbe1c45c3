import { setTimeout as sleep } from "node:timers/promises";
import { adminKey } from "./webhooks.fixture.ts";

export interface Manners {
  /** What a caller may expect and did not get. */
  readonly problems: readonly string[];
  readonly summary: string;
}

/** Refused connections are detected immediately. Publishes wait up to five seconds for the next attempt to write. */
const refusedMsMax = 8_000;
/**
 * A statement without a response is abandoned after ten seconds. The same applies to the query for the outcome of its
 * transaction. The caller may have waited another five seconds for an earlier statement.
 */
const silentMsMax = 25_000;
/** The readiness check sends a separate query, which gets no response either. */
const noticedWithinMs = 10_000;
const pauseMs = 500;

/**
 * Calls an API repeatedly while its store is unavailable. The API must refuse calls within a time limit, give the
 * reason, and report its readiness correctly.
 */
export async function askWhile(
  away: Promise<unknown>,
  { url, isSilent }: { readonly url: string; readonly isSilent: boolean },
): Promise<Manners> {
  const problems = new Set<string>();
  const startedMs = performance.now();
  const sinceMs = (): number => performance.now() - startedMs;
  let isAway = true;
  void away.finally(() => {
    isAway = false;
  });
  let [asked, slowestMs] = [0, 0];
  const answerMsMax = isSilent ? silentMsMax : refusedMsMax;
  const publishing = async (): Promise<void> => {
    while (isAway) {
      const askedMs = performance.now();
      const problem = await refusalProblem(url);
      const tookMs = performance.now() - askedMs;
      asked += 1;
      slowestMs = Math.max(slowestMs, tookMs);
      if (problem !== null && isAway) problems.add(problem);
      if (tookMs > answerMsMax) problems.add(`a publish was answered after ${Math.round(tookMs)} ms`);
      await Promise.race([away, sleep(pauseMs)]);
    }
  };
  let toldAfterMs = Number.POSITIVE_INFINITY;
  const looking = async (): Promise<void> => {
    while (isAway) {
      if (await saysStoreIsAway(url)) toldAfterMs = Math.min(toldAfterMs, sinceMs());
      else if (sinceMs() > noticedWithinMs && isAway)
        problems.add("/readyz did not say that the store is away");
      await Promise.race([away, sleep(pauseMs)]);
    }
  };
  await Promise.all([publishing(), looking()]);
  const summary =
    `${asked} publishes were refused, the slowest after ${Math.round(slowestMs)} ms; ` +
    `/readyz said store_unavailable after ${Math.round(toldAfterMs)} ms`;
  return { problems: [...problems], summary };
}

/** What is wrong with the response to a publish; null if clients can handle the response. */
async function refusalProblem(url: string): Promise<string | null> {
  const response = await fetch(`${url}/v1/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({ event_type: "nobody.asked", data: { n: 1 } }),
  });
  const text = await response.text();
  const type = response.headers.get("content-type");
  const isRight =
    response.status === 503 &&
    type === "application/problem+json" &&
    response.headers.has("retry-after") &&
    text.includes('"code":"unavailable"');
  return isRight ? null : `a publish was answered ${response.status} ${type} ${text}`;
}

async function saysStoreIsAway(url: string): Promise<boolean> {
  const response = await fetch(`${url}/readyz`);
  const text = await response.text();
  return response.status === 503 && text.includes("store_unavailable");
}
