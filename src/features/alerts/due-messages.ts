import { alertKey, type AlertMute, type AlertRecord, type AlertRule } from "./alert.ts";
import { alertInhibitions } from "./default-rules.ts";

/** One message with all pending notifications of one group. */
export interface AlertMessage {
  readonly group: string;
  readonly audience: AlertRule["audience"];
  readonly tenantId: string | null;
  readonly fired: readonly AlertRecord[];
  readonly resolved: readonly AlertRecord[];
}

const never = Number.NEGATIVE_INFINITY;

/** Minimum interval between two messages to one group. */
export const messageEveryMs = 300_000;

/** The rule whose firing alert explains this one; null if there is none. */
export function inhibitorOf(record: AlertRecord, records: readonly AlertRecord[]): string | null {
  for (const { source, silences, within } of alertInhibitions) {
    if (record.ruleTenantId !== null || !silences.includes(record.rule)) continue;
    const explains = records.some(
      (other) =>
        other.rule === source &&
        other.ruleTenantId === null &&
        other.state === "firing" &&
        (within === "everything" || other.webhookId === record.webhookId),
    );
    if (explains) return source;
  }
  return null;
}

export interface Mutes {
  readonly rules: readonly Pick<AlertRule, "name" | "tenantId" | "mutedUntil">[];
  readonly mutes: readonly AlertMute[];
  readonly now: number;
}

/** When the mute of this alert ends; null if it is not muted. */
export function mutedUntil(record: AlertRecord, { rules, mutes, now }: Mutes): number | null {
  const key = alertKey(record);
  const ends = [
    ...rules
      .filter(({ name, tenantId }) => name === record.rule && tenantId === record.ruleTenantId)
      .map((rule) => rule.mutedUntil ?? 0),
    ...mutes.filter((mute) => mute.key === key).map(({ until }) => until),
  ];
  const last = Math.max(0, ...ends);
  return last > now ? last : null;
}

/**
 * The notifications that are due now. The alerts of one tenant form a group, and a group gets one message in five
 * minutes. A resolution is announced only if the firing was.
 */
export function dueMessages(records: readonly AlertRecord[], muting: Mutes): readonly AlertMessage[] {
  const { now } = muting;
  const groups = Map.groupBy(records, groupOf);
  return [...groups].flatMap(([group, ofGroup]) => {
    const toldAt = Math.max(
      ...ofGroup.map(({ firedToldAt, resolvedToldAt }) =>
        Math.max(firedToldAt ?? never, resolvedToldAt ?? never),
      ),
    );
    if (now - toldAt < messageEveryMs) return [];
    const fired = ofGroup.filter(
      (record) =>
        record.state === "firing" &&
        record.firedToldAt === null &&
        record.inhibitedBy === null &&
        mutedUntil(record, muting) === null,
    );
    const resolved = ofGroup.filter(
      ({ state, firedToldAt, resolvedToldAt }) =>
        state === "resolved" && firedToldAt !== null && resolvedToldAt === null,
    );
    const [first] = [...fired, ...resolved];
    if (first === undefined) return [];
    return [{ group, audience: first.audience, tenantId: first.tenantId, fired, resolved }];
  });
}

function groupOf({ audience, tenantId }: AlertRecord): string {
  return `${audience}:${tenantId ?? ""}`;
}
