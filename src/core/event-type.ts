/**
 * Names of event types, and the patterns with which a webhook asks for them.
 *
 * | Pattern | Receives |
 * |---|---|
 * | `order.created` | exactly this type |
 * | `order.*` | every type below `order.`, however deep, but not `order` itself |
 * | `*` | every type that applications publish, not the system's own `posthorn.*` |
 *
 * Names compare letter by letter, case included.
 */

/** Longest name or pattern, in characters. */
export const eventTypeLengthMax = 128;

/** Types that Posthorn publishes itself. A webhook receives them only when it names them (`posthorn.*`, or exactly). */
const systemEventPrefix = "posthorn.";

/** Words of letters, digits and `_`, joined by single dots. */
export const eventTypeNamePattern = "^[a-zA-Z0-9_]+(\\.[a-zA-Z0-9_]+)*$";
/** A name, a name followed by `.*`, or `*` alone. */
export const eventTypePatternPattern = "^(\\*|[a-zA-Z0-9_]+(\\.[a-zA-Z0-9_]+)*(\\.\\*)?)$";

const namePattern = new RegExp(eventTypeNamePattern, "u");

/** Words of letters, digits and `_`, joined by single dots. */
export function isEventTypeName(text: string): boolean {
  return text.length <= eventTypeLengthMax && namePattern.test(text);
}

/** A name, a name followed by `.*`, or `*` alone. */
export function isEventTypePattern(text: string): boolean {
  if (text === "*") return true;
  if (text.length > eventTypeLengthMax) return false;
  return isEventTypeName(text.endsWith(".*") ? text.slice(0, -2) : text);
}

/** Reserved for the system: applications may not publish these. */
export function isSystemEventType(name: string): boolean {
  return name.startsWith(systemEventPrefix);
}

/** Whether a webhook with this pattern receives events of this type. Both must be valid. */
export function matches({ pattern, type }: { readonly pattern: string; readonly type: string }): boolean {
  if (pattern === "*") return !isSystemEventType(type);
  if (!pattern.endsWith(".*")) return pattern === type;
  // The dot stays: `order.*` must not receive `orders.created`.
  return type.startsWith(pattern.slice(0, -1));
}
