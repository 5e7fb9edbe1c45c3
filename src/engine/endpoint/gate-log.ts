import { gateNames } from "../../core/delivery.ts";
import type { DeliveryWait, GateName } from "../../core/delivery.ts";

/**
 * A period with a closed gate. `until` is the expected or actual end; null if only a person or a response can open
 * it.
 */
interface ClosedTime {
  readonly reason: GateName;
  readonly from: number;
  until: number | null;
}

/**
 * Periods when gates held deliveries: one entry for each time a gate was closed, regardless of the number of
 * deliveries. When a delivery is sent, its waits are taken from here. Times in Unix ms.
 */
export class GateLog {
  #entries: ClosedTime[] = [];

  /** Records a closed gate. If it closed again right after it opened, the previous entry is extended. */
  note(reason: GateName, until: number | null, now: number): void {
    const known = this.#entries.findLast((entry) => entry.reason === reason);
    if (known !== undefined && (known.until === null || now - known.until <= gapMsMax)) {
      known.until = until;
      return;
    }
    this.#entries.push({ reason, from: now, until });
    if (this.#entries.length > entriesMax) this.#entries = joined(this.#entries);
  }

  /** Records that all gates are open, perhaps earlier than expected. */
  opened(now: number): void {
    for (const entry of this.#entries) if (entry.until === null || entry.until > now) entry.until = now;
  }

  /** The entries within a period, clipped to it. */
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

/** Parses the output of `toJSON`; null for any other value. */
export function gateLogFromJson(value: unknown): GateLog | null {
  if (!Array.isArray(value)) return null;
  const log = new GateLog();
  for (const entry of value as readonly unknown[]) {
    const [name, from, until] = Array.isArray(entry) ? (entry as unknown[]) : [];
    const waitingFor = gateNames.find((known) => known === name);
    if (waitingFor === undefined || typeof from !== "number") continue;
    if (until === null || typeof until === "number") log.note(waitingFor, until, from);
  }
  return log;
}

/**
 * Merges the two oldest entries of one gate, from the start of the first to the end of the second: waits of days are
 * kept roughly, but never forgotten.
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

/** A failing probe, or a request that ends one pause and starts the next, takes up to this long. */
const gapMsMax = 60_000;
const entriesMax = 16;
