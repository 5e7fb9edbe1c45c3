import { parseInstant } from "../mapping/instant.ts";

/** A time from a query or body that the schema has checked. */
export function instantOf(text: string | undefined): number | null {
  return text === undefined ? null : parseInstant(text);
}
