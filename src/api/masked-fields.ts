import { maskedParameters } from "../core/http/masked-fields.ts";
import { isRawNumber } from "../core/json/lossless.ts";
import type { Schema } from "./schemas/type.ts";

type JsonFields = Readonly<Record<string, unknown>>;

/** Replaces a value that is never shown. */
const masked = "…";
/** Size limit of one field as JSON; longer fields are replaced by their length. */
const bytesMax = 1_024;

/**
 * Names of secrets. The schema marks write-only fields; names catch secrets that it does not describe, such as headers
 * of receivers and objects without declared members.
 */
const secretName =
  /secret|password|token|private|authorization|credential|signature|cookie|(^|[_-])key$|^code$/i;
/** Names that match the pattern above but hold no secret. */
const plainName = /_url$|^idempotency_key$|^signature_(schemes?|header)|^has_/i;

/** The parts of JSON Schema that lead to a value. */
interface Described {
  readonly writeOnly?: boolean;
  readonly "x-open-members"?: readonly string[];
  readonly properties?: Readonly<Record<string, Described>>;
  readonly additionalProperties?: boolean | Described;
  readonly items?: Described;
  readonly anyOf?: readonly Described[];
  readonly oneOf?: readonly Described[];
  readonly allOf?: readonly Described[];
}

/** Masks secrets at any depth and shortens values that are too long to keep. */
export function maskedFields(fields: JsonFields, schema?: Schema): JsonFields {
  const described = schema === undefined ? [] : [schema as Described];
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      shortened(maskedValue(name, value, membersOf(described, name))),
    ]),
  );
}

/** The names of the write-only fields of a schema. */
export function writeOnlyNames(schema: Schema | undefined): ReadonlySet<string> {
  const { properties = {} } = (schema ?? {}) as Described;
  return new Set(
    Object.entries(properties)
      .filter(([, { writeOnly }]) => writeOnly === true)
      .map(([name]) => name),
  );
}

function maskedValue(name: string, value: unknown, schemas: readonly Described[]): unknown {
  if (value === null || value === undefined || typeof value === "boolean") return value;
  const secret = schemas.find(({ writeOnly }) => writeOnly === true);
  if (secret !== undefined) return maskedWhole(value, secret["x-open-members"]);
  if (secretName.test(name) && !plainName.test(name)) return maskedWhole(value);
  if (Array.isArray(value)) {
    const items = schemas.flatMap(({ items: each }) => (each === undefined ? [] : variantsOf(each)));
    return value.map((one) => maskedValue("", one, items));
  }
  if (typeof value === "string" && /(^|_)url$/.test(name)) return maskedParameters(value);
  return typeof value === "object" && !isRawNumber(value)
    ? Object.fromEntries(
        Object.entries(value).map(([inner, one]) => [
          inner,
          maskedValue(inner, one, membersOf(schemas, inner)),
        ]),
      )
    : value;
}

function membersOf(schemas: readonly Described[], name: string): readonly Described[] {
  return schemas.flatMap(variantsOf).flatMap(({ properties = {}, additionalProperties }) => {
    if (Object.hasOwn(properties, name)) return variantsOf(properties[name] ?? {});
    return typeof additionalProperties === "object" ? variantsOf(additionalProperties) : [];
  });
}

/** The schema and all its alternatives. */
function variantsOf(schema: Described): readonly Described[] {
  const { anyOf = [], oneOf = [], allOf = [] } = schema;
  return [schema, ...[...anyOf, ...oneOf, ...allOf].flatMap(variantsOf)];
}

/** Keeps the names in an object: the names of headers are not secret. */
function maskedWhole(value: unknown, openMembers: readonly string[] = []): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return masked;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      openMembers.includes(name) && typeof one === "string" ? one : masked,
    ]),
  );
}

function shortened(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text !== undefined && text.length > bytesMax ? `… (${text.length} characters)` : value;
}
