/** The fields of a stored configuration and their validation. */
import { closestName } from "../../domain/closest-name.ts";

/** One problem with its location (JSON pointer) and a sentence. It never contains part of a secret. */
export interface ConfigurationProblem {
  readonly pointer: string;
  readonly detail: string;
}

export interface ConfigurationField {
  readonly kind: "text" | "texts" | "number" | "choice" | "verifiers";
  readonly isRequired: boolean;
  /** Must be sealed when stored and masked when shown. */
  readonly isSecret: boolean;
  /** Allowed values, for `choice`. */
  readonly choices?: readonly string[];
  readonly description: string;
}

export type Fields = Readonly<Record<string, ConfigurationField>>;
export type Configuration = Readonly<Record<string, unknown>>;

export const configurationBounds = {
  textLengthMax: 2_048,
  textsMax: 16,
  toleranceSecondsMax: 86_400,
  verifiersMax: 8,
  allVerifiersMax: 16,
  depthMax: 3,
} as const;

/** Every problem of the fields; empty if the values can be used. */
export function fieldProblems(
  configuration: Configuration,
  fields: Fields,
  at: string,
): readonly ConfigurationProblem[] {
  const unknown = Object.keys(configuration)
    .filter((name) => name !== "type" && configuration[name] !== undefined && !Object.hasOwn(fields, name))
    .map((name) => ({ pointer: `${at}/${escaped(name)}`, detail: unknownField(name, fields) }));
  const faulty = Object.entries(fields).flatMap(([name, field]) => {
    const value = configuration[name];
    if (value === undefined)
      return field.isRequired
        ? [{ pointer: `${at}/${name}`, detail: `${name} is missing: ${field.description}` }]
        : [];
    return valueProblems(value, name, field, `${at}/${name}`);
  });
  return [...unknown, ...faulty];
}

function unknownField(name: string, fields: Fields): string {
  const meant = closestName(name, Object.keys(fields));
  const names = Object.keys(fields).join(", ");
  const known = names === "" ? "this type has no fields" : `there are ${names}`;
  return `${name.slice(0, 64)} is not a field of this type; ${meant === null ? known : `did you mean ${meant}?`}`;
}

function valueProblems(
  value: unknown,
  name: string,
  field: ConfigurationField,
  pointer: string,
): readonly ConfigurationProblem[] {
  const { toleranceSecondsMax, verifiersMax } = configurationBounds;
  const unless = (isFine: boolean, rule: string) =>
    isFine ? [] : [{ pointer, detail: `${name} must be ${rule}` }];
  switch (field.kind) {
    case "text":
      return unless(isText(value), textRule);
    case "texts":
      return textsProblems(value, name, pointer);
    case "number":
      return unless(
        typeof value === "number" && value >= 0 && value <= toleranceSecondsMax,
        `a number from 0 to ${toleranceSecondsMax}`,
      );
    case "choice": {
      const { choices = [] } = field;
      return unless(typeof value === "string" && choices.includes(value), `one of ${choices.join(", ")}`);
    }
    case "verifiers":
      return unless(
        Array.isArray(value) && value.length > 0 && value.length <= verifiersMax,
        `a list of 1 to ${verifiersMax} verifiers`,
      );
    default:
      return field.kind satisfies never;
  }
}

function textsProblems(value: unknown, name: string, pointer: string): readonly ConfigurationProblem[] {
  const { textsMax } = configurationBounds;
  if (!Array.isArray(value)) return isText(value) ? [] : [{ pointer, detail: `${name} must be ${textRule}` }];
  if (value.length === 0 || value.length > textsMax)
    return [{ pointer, detail: `${name} must be 1 to ${textsMax} strings` }];
  return value.flatMap((text: unknown, index) =>
    isText(text) ? [] : [{ pointer: `${pointer}/${index}`, detail: `${name}: each must be ${textRule}` }],
  );
}

const textRule = `a string of 1 to ${configurationBounds.textLengthMax} characters, without line breaks`;

function isText(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value !== "" &&
    value.length <= configurationBounds.textLengthMax &&
    !/\p{Cc}/u.test(value)
  );
}

function escaped(name: string): string {
  return name.slice(0, 64).replaceAll("~", "~0").replaceAll("/", "~1");
}
