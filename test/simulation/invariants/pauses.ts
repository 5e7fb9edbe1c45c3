import type { Flight } from "./flights.ts";
import type { Watched } from "./watched.ts";

/**
 * Until when each webhook must be left alone because of what its receiver answered (I-8): 429 and 503 with Retry-After,
 * and the fixed pauses of profile `standard`, each within its bound. A pause that was never committed ends with the process that knew it.
 */
export class Pauses {
  readonly #watched: Watched;
  readonly #known = new Map<string, number>();
  readonly #committed = new Map<string, number>();

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  answered(flight: Flight): void {
    const until = pauseOf(flight, this.#watched.time.now());
    if (until !== null) raise(this.#known, { webhookId: flight.webhookId, until });
  }

  settled(flight: Flight): void {
    const until = pauseOf(flight, flight.answeredAt);
    if (until !== null) raise(this.#committed, { webhookId: flight.webhookId, until });
  }

  /** Somebody re-enabled the webhook, or gave it another URL: what its receiver asked before is forgiven. */
  forgive(webhookId: string): void {
    this.#known.delete(webhookId);
    this.#committed.delete(webhookId);
  }

  died(): void {
    this.#known.clear();
    for (const [webhookId, until] of this.#committed) this.#known.set(webhookId, until);
  }

  until(webhookId: string): number {
    return this.#known.get(webhookId) ?? 0;
  }
}

function raise(
  pauses: Map<string, number>,
  pause: { readonly webhookId: string; readonly until: number },
): void {
  pauses.set(pause.webhookId, Math.max(pauses.get(pause.webhookId) ?? 0, pause.until));
}

/** No pause is longer than five days, or than events of the webhook live. */
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
