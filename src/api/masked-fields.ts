import { isRawNumber } from "../core/json/lossless.ts";

type Json = Readonly<Record<string, unknown>>;

/** Stands for a value that is never shown. */
const masked = "…";
/** Of one field as JSON; what is longer is told by its length. */
const bytesMax = 1_024;

/** Fields of this API, and headers of receivers, whose values nobody but their owner may see. */
const secretName =
  /secret|password|token|private|authorization|credential|signature|cookie|(^|[_-])key$|^code$/i;
/** Names like those that hold none. */
const plainName = /_url$|^idempotency_key$|^signature_(schemes?|header)|^has_/i;

/** The fields with secrets masked at any depth, and without what is too long to be kept. */
export function maskedFields(fields: Json): Json {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, shortened(maskedValue(name, value))]),
  );
}

function maskedValue(name: string, value: unknown): unknown {
  if (value === null || value === undefined || typeof value === "boolean") return value;
  if (secretName.test(name) && !plainName.test(name)) return maskedWhole(value);
  if (Array.isArray(value)) return value.map((one) => maskedValue("", one));
  return typeof value === "object" && !isRawNumber(value)
    ? Object.fromEntries(Object.entries(value).map(([inner, one]) => [inner, maskedValue(inner, one)]))
    : value;
}

/** Of an object the names stay: which header was set is no secret. */
function maskedWhole(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return masked;
  return Object.fromEntries(Object.keys(value).map((name) => [name, masked]));
}

function shortened(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text !== undefined && text.length > bytesMax ? `… (${text.length} characters)` : value;
}
