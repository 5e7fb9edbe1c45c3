import { tryParseJson } from "../../domain/json/json-text.ts";
import { type LaneKey, orderingGuarantees } from "../../domain/webhook.ts";

/**
 * Version of the message body. Readers park messages of unknown versions, so that a newer program can read them later.
 */
const version = 1;
/** Far larger than any message of ours. Parsing a larger foreign message would waste memory. */
const bodyBytesMax = 1_048_576;
/** Maximum number of lanes per message; more lanes are split into several messages. */
export const lanesPerMessageMax = 500;

export type DecodedLanes =
  | { readonly kind: "lanes"; readonly lanes: readonly LaneKey[] }
  | { readonly kind: "unreadable"; readonly reason: string };

/** `{"v":1,"lanes":[["webhook id","strict"],["webhook id","per_event_type","event type"]]}` */
export function encodeLanes(lanes: readonly LaneKey[]): Buffer {
  const rows = lanes.map(({ webhookId, ordering, eventType }) =>
    eventType === null ? [webhookId, ordering] : [webhookId, ordering, eventType],
  );
  return Buffer.from(JSON.stringify({ v: version, lanes: rows }));
}

export function decodeLanes(body: Buffer): DecodedLanes {
  if (body.length > bodyBytesMax) return unreadable("too large");
  const message = tryParseJson(body.toString());
  if (message === undefined) return unreadable("not JSON");
  if (typeof message !== "object" || message === null || !("v" in message) || !("lanes" in message)) {
    return unreadable("not a message of Posthorn");
  }
  if (message.v !== version) return unreadable(`version ${shown(message.v)}, this program reads ${version}`);
  if (!Array.isArray(message.lanes) || message.lanes.length === 0) return unreadable("no lanes");
  const lanes: LaneKey[] = [];
  for (const row of message.lanes as readonly unknown[]) {
    const lane = laneOf(row);
    if (lane === null) return unreadable("an invalid lane");
    lanes.push(lane);
  }
  return { kind: "lanes", lanes };
}

function laneOf(row: unknown): LaneKey | null {
  if (!Array.isArray(row)) return null;
  const [webhookId, ordering, eventType = null] = row as readonly unknown[];
  const known = orderingGuarantees.find((each) => each === ordering);
  if (typeof webhookId !== "string" || webhookId === "" || known === undefined) return null;
  const isTyped = known === "per_event_type";
  if (isTyped ? typeof eventType !== "string" : eventType !== null) return null;
  return { webhookId, ordering: known, eventType: isTyped ? String(eventType) : null };
}

function unreadable(reason: string): DecodedLanes {
  return { kind: "unreadable", reason };
}

/** Shortens foreign text for log lines and headers. */
function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, 40);
}
