import type { Flight } from "./flights.ts";
import type { Watched } from "./watched.ts";

/**
 * The time before which nothing may be sent to a webhook because of its receiver's response (I-8). Causes are 429 and
 * 503 with Retry-After, and the fixed pauses of the profile `standard`, each with its limit. A pause that was not
 * committed ends with its process.
 */
export class Pauses {
  readonly #watched: Watched;
  readonly #known = new Map<string, Pause>();
  readonly #committed = new Map<string, Pause>();

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  answered(flight: Flight): void {
    const notedAt = this.#watched.time.now();
    const until = pauseOf(flight, notedAt);
    if (until !== null) raise(this.#known, flight.webhookId, { until, notedAt });
  }

  settled(flight: Flight): void {
    const until = pauseOf(flight, flight.answeredAt);
    if (until !== null) raise(this.#committed, flight.webhookId, { until, notedAt: flight.answeredAt });
  }

  /**
   * Called when the webhook was re-enabled or got a different URL. Earlier pauses that its receiver requested no longer
   * apply.
   */
  forgive(webhookId: string): void {
    this.#known.delete(webhookId);
    this.#committed.delete(webhookId);
  }

  died(): void {
    this.#known.clear();
    for (const [webhookId, pause] of this.#committed) this.#known.set(webhookId, pause);
  }

  /** A pause that began while the clock was ahead keeps its length and starts now. */
  clockSetBack(now: number): void {
    for (const pauses of [this.#known, this.#committed])
      for (const [webhookId, { until, notedAt }] of pauses)
        if (notedAt > now) pauses.set(webhookId, { until: now + Math.max(0, until - notedAt), notedAt: now });
  }

  until(webhookId: string): number {
    return this.#known.get(webhookId)?.until ?? 0;
  }
}

interface Pause {
  readonly until: number;
  readonly notedAt: number;
}

function raise(pauses: Map<string, Pause>, webhookId: string, pause: Pause): void {
  if ((pauses.get(webhookId)?.until ?? 0) < pause.until) pauses.set(webhookId, pause);
}

/** A pause is at most five days, and at most the maximum age of the webhook's events. */
function pauseOf(flight: Flight, answeredAt: number): number | null {
  const asked = askedPause(flight, answeredAt);
  const ageMsMax = flight.run.engine.webhook(flight.webhookId)?.policy.ageMsMax ?? pauseMsMax;
  return asked === null ? null : Math.min(asked, answeredAt + Math.min(ageMsMax, pauseMsMax));
}

function askedPause({ answer }: Flight, answeredAt: number): number | null {
  if (answer === null || answer.means === "accepted") return null;
  const { observation, retryNotBefore } = answer;
  if (observation.kind === "failure")
    return observation.category === "timeout" ? answeredAt + minuteMs : null;
  const fixedMs = fixedPausesMs[observation.status];
  const asked = honoured.includes(observation.status) ? retryNotBefore : null;
  if (fixedMs === undefined) return asked;
  return Math.max(answeredAt + fixedMs, asked ?? 0);
}

const minuteMs = 60_000;
const pauseMsMax = 7_200 * minuteMs;
const fixedPausesMs: Readonly<Record<number, number>> = {
  429: minuteMs,
  408: minuteMs,
  502: 5_000,
  504: 5_000,
};
const honoured = [429, 503];
