import type { Signal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { SourceType } from "../../shared/resources.ts";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { problemOf, type FormField, type FormProblem } from "../form/form-fields.ts";
import { FormInput } from "../form/form-input.tsx";
import {
  addressFields,
  randomSecret,
  secondOf,
  secretField,
  type TypedVerification,
} from "./source-types.ts";

type SourceTypeField = SourceType["fields"][number];

interface VerificationFieldsProps {
  readonly type: SourceType;
  readonly typed: Signal<TypedVerification>;
  readonly problems: readonly FormProblem[];
  /** Whether the source exists: its secret may be on its way to another one, and its address is known. */
  readonly isChange: boolean;
}

/** The fields that a way of verification has, by what the API tells of them. */
export function VerificationFields({ type, typed, problems, isChange }: VerificationFieldsProps) {
  const id = useId();
  const secret = secretField(type);
  const inputOf = (field: FormField) => (
    <FormInput
      key={field.name}
      id={`${id}-${field.name}`}
      field={field}
      text={typed.value[field.name] ?? ""}
      problem={textOf(problemOf(problems, `verification.${field.name}`), field.name)}
      change={(text) => (typed.value = { ...typed.value, [field.name]: text })}
    />
  );
  const others = type.fields.filter((field) => field !== secret);
  return (
    <>
      {type.type === "none" && (
        <p class="note note-bad">
          Nothing is verified: anybody who knows the address can send. Lists show a warning as long as it is
          so.
        </p>
      )}
      {secret !== null && (
        <>
          {inputOf(formFieldOf(secret, { isChange }))}
          <SecretTools type={type} name={secret.name} typed={typed} />
          {isChange && inputOf(secondField(secret))}
        </>
      )}
      {others.filter((field) => !isSeldom(field)).map((field) => inputOf(formFieldOf(field, { isChange })))}
      {others.some(isSeldom) && (
        <details>
          <summary>More of the verification</summary>
          <div class="form">
            {others.filter(isSeldom).map((field) => inputOf(formFieldOf(field, { isChange })))}
          </div>
        </details>
      )}
    </>
  );
}

/** The API names the field in its sentence; here the label does. */
function textOf(problem: string | null, name: string): string | null {
  if (problem === null || !problem.startsWith(name)) return problem;
  return problem.slice(name.length).replace(/^:? /, "").replace(/\.$/, "");
}

const isSeldom = ({ is_required: isRequired, name }: SourceTypeField) =>
  !isRequired && name !== "verify_token" && name !== "header" && name !== "query";

/** Makes a secret up, and copies what stands in the field. */
function SecretTools(props: {
  readonly type: SourceType;
  readonly name: string;
  readonly typed: Signal<TypedVerification>;
}) {
  const { type, name, typed } = props;
  const text = typed.value[name] ?? "";
  const isPossible = randomSecret(type) !== null;
  const make = () => (typed.value = { ...typed.value, [name]: randomSecret(type) ?? "" });
  return (
    <p class="secret-tools">
      {isPossible && (
        <button type="button" onClick={make}>
          Make a random one
        </button>
      )}
      {text !== "" && (
        <>
          <CopyButton text={text} label="Copy the secret" />{" "}
          <span class="soft">{text.length} characters</span>
        </>
      )}
    </p>
  );
}

const labels: Readonly<Record<string, string>> = {
  secrets: "Secret",
  public_keys: "Public key",
  fingerprints: "Fingerprint of the certificate",
  public_url: "Address as entered at the sender",
  public_origin: "Origin of the address",
};

export function labelOf(name: string): string {
  const words = name.replaceAll("_", " ");
  return labels[name] ?? `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function formFieldOf(field: SourceTypeField, { isChange }: { readonly isChange: boolean }): FormField {
  const { name, kind, description, choices } = field;
  const isOfAddress = addressFields[name] !== undefined && !isChange;
  return {
    name,
    label: labelOf(name),
    kind: kindOf(field),
    hint: isOfAddress
      ? `${description} Left empty it is the address that this source gets.`
      : hintOf(description),
    ...(kind === "choice" && { choices: [["", "as usual"], ...choices.map((one) => [one, one] as const)] }),
  };
}

/** What the API says of both is said of the second one here. */
function hintOf(description: string): string {
  return description.replace(/; two during a (?:rotation|renewal)\./, ".");
}

function kindOf({ kind, is_secret: isSecret }: SourceTypeField): FormField["kind"] {
  if (isSecret) return "secret";
  if (kind === "choice") return "choice";
  return kind === "verifiers" ? "json" : "line";
}

function secondField({ name, is_secret: isSecret }: SourceTypeField): FormField {
  return {
    name: secondOf(name),
    label: "The one before, while the sender changes over",
    kind: isSecret ? "secret" : "line",
    hint: "Messages with either are taken. Leave it empty if the one before was leaked.",
  };
}
