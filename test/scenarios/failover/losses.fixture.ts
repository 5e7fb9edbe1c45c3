import type { Accepted } from "../outages/publisher.fixture.ts";

/** The state after a failover that lost commits. */
export interface Aftermath {
  /** Events that the standby had when it became the primary. */
  readonly had: ReadonlySet<string>;
  /** Events that are stored at the end. */
  readonly has: ReadonlySet<string>;
  /** Since when the address points to it, Unix milliseconds. */
  readonly movedAt: number;
}

/** Accepted events that are missing although the standby had them, or became the primary before they were published. */
export function lossBreaches(
  accepted: readonly Pick<Accepted, "eventId">[],
  { had, has, movedAt }: Aftermath,
): readonly string[] {
  const missing = [...accepted.map(({ eventId }) => eventId), ...had].filter((id) => !has.has(id));
  return [...new Set(missing)]
    .filter((id) => had.has(id) || madeAt(id) >= movedAt)
    .map((id) => `event ${id} is lost, although the new primary had it or was asked to store it`);
}

/** UUIDs of version 7 begin with their time. */
function madeAt(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}
