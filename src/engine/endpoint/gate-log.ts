import { gateNames } from "../../core/delivery.ts";
import type { DeliveryWait, GateName } from "../../core/delivery.ts";

/** A gate that was closed. `until` is when it was to open, or did; null while only a person or an answer can open it. */
interface ClosedTime {
  readonly reason: GateName;
  readonly from: number;
  until: number | null;
}

/**
 * When gates held back what was to be sent: one entry for each time a gate was closed, however often somebody came to it.
 * What waited takes from it, once it is sent, what it waited for. Times in Unix ms.
 */
export class GateLog {
  #entries: ClosedTime[] = [];

  /** A gate was found closed. A gate that closes again right after it opened was closed all the time. */
  note(gate: { readonly waitingFor: GateName; readonly until: number | null }, now: number): void {
    const { waitingFor: reason, until } = gate;
    const known = this.#entries.findLast((entry) => entry.reason === reason);
    if (known !== undefined && (known.until === null || now - known.until <= gapMsMax)) {
      known.until = until;
      return;
    }
    this.#entries.push({ reason, from: now, until });
    if (this.#entries.length > entriesMax) this.#entries = joined(this.#entries);
  }

  /** Everything was found open, perhaps earlier than was expected. */
  opened(now: number): void {
    for (const entry of this.#entries) if (entry.until === null || entry.until > now) entry.until = now;
  }

  /** What was closed within a time, cut to it. */
  within({ from, until }: Pick<DeliveryWait, "from" | "until">): readonly DeliveryWait[] {
    return this.#entries.flatMap((entry) => {
      const begins = Math.max(entry.from, from);
      const ends = Math.min(entry.until ?? until, until);
      return ends > begins ? [{ reason: entry.reason, from: begins, until: ends }] : [];
    });
  }

  toJSON(): readonly unknown[] {
    return this.#entries.map(({ reason, from, until }) => [reason, from, until]);
  }
}

/** What `toJson` gave; null when it was nothing, or is something else. */
export function gateLogFromJson(value: unknown): GateLog | null {
  if (!Array.isArray(value)) return null;
  const log = new GateLog();
  for (const entry of value as readonly unknown[]) {
    const [name, from, until] = Array.isArray(entry) ? (entry as unknown[]) : [];
    const waitingFor = gateNames.find((known) => known === name);
    if (waitingFor === undefined || typeof from !== "number") continue;
    if (until === null || typeof until === "number") log.note({ waitingFor, until }, from);
  }
  return log;
}

/**
 * Older times of one gate become one, from the first to the last: a wait of days is kept roughly, and never forgotten.
 */
function joined(entries: readonly ClosedTime[]): ClosedTime[] {
  const laterOf = (entry: ClosedTime, index: number) =>
    entries.find((other, at) => at > index && other.reason === entry.reason);
  const first = entries.find((entry, index) => laterOf(entry, index) !== undefined);
  const second = first === undefined ? undefined : laterOf(first, entries.indexOf(first));
  if (first === undefined || second === undefined) return entries.slice(1);
  return entries.flatMap((entry) => {
    if (entry === second) return [];
    return [entry === first ? { ...first, until: second.until } : entry];
  });
}

/** A probe that fails, or a request that ends a pause and begins another one, takes that long. */
const gapMsMax = 60_000;
const entriesMax = 16;
