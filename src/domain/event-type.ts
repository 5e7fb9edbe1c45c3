/**
 * Names of event types, and the patterns with which webhooks subscribe to them.
 *
 * | Pattern | Receives |
 * |---|---|
 * | `order.created` | exactly this type |
 * | `order.*` | every type below `order.`, at any depth, but not `order` itself |
 * | `*` | every type that applications publish, but not the system's `posthorn.*` |
 *
 * Comparison is case-sensitive.
 */

/** Maximum length of a name or pattern, in characters. */
export const eventTypeLengthMax = 128;

/**
 * Types that Posthorn publishes itself. A webhook receives them only if it subscribes to them explicitly (`posthorn.*`,
 * or the exact name).
 */
const systemEventPrefix = "posthorn.";

/** Words of letters, digits and `_`, joined by single dots. */
export const eventTypeNamePattern = "^[a-zA-Z0-9_]+(\\.[a-zA-Z0-9_]+)*$";
/** A name, a name followed by `.*`, or `*` alone. */
export const eventTypePatternPattern = "^(\\*|[a-zA-Z0-9_]+(\\.[a-zA-Z0-9_]+)*(\\.\\*)?)$";

const namePattern = new RegExp(eventTypeNamePattern, "u");

export function isEventTypeName(text: string): boolean {
  return text.length <= eventTypeLengthMax && namePattern.test(text);
}

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
export function matches(pattern: string, type: string): boolean {
  if (pattern === "*") return !isSystemEventType(type);
  if (!pattern.endsWith(".*")) return pattern === type;
  // Keep the dot: `order.*` must not match `orders.created`.
  return type.startsWith(pattern.slice(0, -1));
}
