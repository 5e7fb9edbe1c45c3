import type { Accepted } from "../outages/publisher.fixture.ts";

/** The state after a failover that lost commits. */
export interface Aftermath {
  /** Events that the standby had received when it became the primary. */
  readonly had: ReadonlySet<string>;
  /** Events that are stored at the end of the test. */
  readonly has: ReadonlySet<string>;
  /** When the address was switched to the standby, in Unix milliseconds. */
  readonly movedAt: number;
}

/**
 * Accepted events that are missing and should not be. Either the standby had received them, or they were published
 * after it became the primary.
 */
export function lossBreaches(
  accepted: readonly Pick<Accepted, "eventId">[],
  { had, has, movedAt }: Aftermath,
): readonly string[] {
  const missing = [...accepted.map(({ eventId }) => eventId), ...had].filter((id) => !has.has(id));
  return [...new Set(missing)]
    .filter((id) => had.has(id) || madeAt(id) >= movedAt)
    .map((id) => `event ${id} is lost, although the new primary had it or was asked to store it`);
}

/** A version 7 UUID starts with its time. */
function madeAt(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}
