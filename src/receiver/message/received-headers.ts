import type { MessageHeaders } from "./message.ts";

/**
 * Header fields that can also be listed, which the inbox needs to keep them. Every adapter of the kit makes these, and
 * `Headers` of the Fetch API are such, too.
 */
export interface ListedHeaders extends MessageHeaders, Iterable<readonly [name: string, value: string]> {}

/** Fields with their values as they came; equal names are joined with `, ` (RFC 9110, 5.2). */
export function receivedHeaders(
  fields: Iterable<readonly [name: string, value: string | readonly string[] | undefined]>,
): ListedHeaders {
  const values = new Map<string, string>();
  for (const [name, value] of fields) {
    if (value === undefined) continue;
    const text = typeof value === "string" ? value : value.join(", ");
    const key = name.toLowerCase();
    const before = values.get(key);
    values.set(key, before === undefined ? text : `${before}, ${text}`);
  }
  return {
    get: (name) => values.get(name.toLowerCase()) ?? null,
    [Symbol.iterator]: () => values.entries(),
  };
}

/** All fields that can be listed; none when the application brought headers of its own that cannot. */
export function listHeaders(headers: MessageHeaders): Iterable<readonly [name: string, value: string]> {
  return Symbol.iterator in headers ? (headers as ListedHeaders) : [];
}
