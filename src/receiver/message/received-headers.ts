import type { MessageHeaders } from "./message.ts";

/**
 * Header fields that can also be listed, so that the inbox can store them. Every adapter of the kit provides these, and
 * `Headers` of the Fetch API are compatible.
 */
export interface ListedHeaders extends MessageHeaders, Iterable<readonly [name: string, value: string]> {}

/** Fields with their received values; equal names are joined with `, ` (RFC 9110, section 5.2). */
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

/** All fields that can be listed; empty if the application passed headers that cannot. */
export function listHeaders(headers: MessageHeaders): Iterable<readonly [name: string, value: string]> {
  return Symbol.iterator in headers ? (headers as ListedHeaders) : [];
}
