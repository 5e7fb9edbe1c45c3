import { noResponseFields, responseFieldLengthMax } from "../../../ports/transport.ts";
import type { OutboundRequest, ResponseFields } from "../../../ports/transport.ts";

type FieldName = keyof ResponseFields;
type Kept = Partial<Record<FieldName, string>>;

/** Response fields by lower-case name, as undici and node:http2 provide them. */
export type RawFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Kept from every answer; `location` and `content-type` have separate conditions. */
const alwaysKept = [
  "sunset",
  "webhook-allowed-origin",
  "webhook-allowed-rate",
  "allow",
  "www-authenticate",
] as const satisfies readonly FieldName[];

/** The fields that the port promises to keep. Ordinary answers have none of these and cost no object. */
export function keptFields(raw: RawFields, status: number, request: OutboundRequest): ResponseFields {
  let kept: Kept | null = null;
  for (const name of alwaysKept) if (raw[name] !== undefined) kept = keep(kept, name, raw);
  if (status >= 300 && status < 400) kept = keep(kept, "location", raw);
  if (request.responseBodyBytesMax !== undefined) kept = keep(kept, "content-type", raw);
  return kept ?? noResponseFields;
}

function keep(kept: Kept | null, name: FieldName, raw: RawFields): Kept | null {
  const value = firstOf(raw[name], responseFieldLengthMax);
  if (value === null) return kept;
  const all = kept ?? {};
  all[name] = value;
  return all;
}

/** The first value of a field, cut to `lengthMax`; null when it is absent. */
export function firstOf(value: string | readonly string[] | undefined, lengthMax: number): string | null {
  const first = typeof value === "object" ? value[0] : value;
  return first === undefined ? null : first.slice(0, lengthMax);
}
