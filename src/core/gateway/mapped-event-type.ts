import { eventTypeLengthMax, isEventTypeName, isSystemEventType } from "../event-type.ts";

/** For messages whose type is unknown. */
const unknownEventType = "gateway.message";

/** Converts the sender's spelling to a valid event type: `customers/create` becomes `customers.create`. */
export function mappedEventType(original: string | null): string {
  if (original === null) return unknownEventType;
  const mapped = original
    .replaceAll(/[/:\\]+/g, ".")
    .replaceAll(/[^A-Za-z0-9_.]+/g, "_")
    .replaceAll(/\.{2,}/g, ".")
    .replaceAll(/^[._]+|[._]+$/g, "")
    .slice(0, eventTypeLengthMax)
    .replace(/\.$/, "");
  if (isSystemEventType(mapped)) return `relayed.${mapped}`.slice(0, eventTypeLengthMax);
  return isEventTypeName(mapped) ? mapped : unknownEventType;
}
