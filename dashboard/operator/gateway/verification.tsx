import { type Signal, useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import { refreshAll, useApi } from "../../shared/queries.ts";
import type { Page, Source, SourceType } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { ErrorNote, NotLoaded } from "../../shared/ui/error-note.tsx";
import { SelectField } from "../../shared/ui/field.tsx";
import { DialogButton } from "../form/action-button.tsx";
import { DescribedField } from "../form/described-field.tsx";
import { type FormField, type FormProblem, problemOf } from "../form/form-fields.ts";
import { useFormSending } from "../form/resource-form.tsx";
import {
  addressFields,
  randomSecret,
  secondOf,
  secretField,
  type TypedVerification,
  typedVerification,
  verificationOf,
} from "./source-types.ts";

/** Changes the secret, optionally keeping the previous one, or the verification scheme. */
export function ChangeVerificationButton(props: {
  readonly source: Source;
  readonly label: string;
  readonly isPrimary?: boolean;
  /** Called after the change. */
  readonly changed?: () => void;
}) {
  const { source, label, isPrimary = false, changed } = props;
  return (
    <DialogButton label={label} title="Change verification" isPrimary={isPrimary}>
      {(close) => (
        <ChangeForm
          source={source}
          done={() => {
            close();
            changed?.();
          }}
        />
      )}
    </DialogButton>
  );
}

function ChangeForm({ source, done }: { readonly source: Source; readonly done: () => void }) {
  const { data, error } = useSourceTypes();
  const now = source.verification.type ?? "";
  const chosen = useSignal(now);
  const type = data?.data.find((one) => one.type === chosen.value);
  if (data === null) return <NotLoaded error={error} />;
  return (
    <div class="form">
      <SelectField
        label="Verification"
        value={chosen}
        options={data.data.map((one) => [one.type, one.title] as const)}
      />
      {type !== undefined && (
        <TypedForm key={type.type} source={source} type={type} isSame={type.type === now} done={done} />
      )}
    </div>
  );
}

function TypedForm(props: {
  readonly source: Source;
  readonly type: SourceType;
  readonly isSame: boolean;
  readonly done: () => void;
}) {
  const { source, type, isSame, done } = props;
  const typed = useSignal<TypedVerification>(isSame ? typedVerification(type, source.verification) : {});
  const { form, problems, error, isBusy, submit } = useFormSending();
  const send = async (body: object) => {
    await callApi({ method: "PATCH", path: `v1/sources/${source.id}`, body });
    announce("Saved");
    await refreshAll();
    done();
  };
  return (
    <form
      ref={form}
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        const verification = verificationOf(type, typed.value);
        void submit({ body: { verification }, problems: [] }, send);
      }}
    >
      {isSame && type.fields.some(({ is_secret }) => is_secret) && (
        <p class="soft">Stored secrets are never shown. Enter them again.</p>
      )}
      <VerificationFields type={type} typed={typed} problems={problems.value} isChange />
      {error.value !== null && <ErrorNote error={error.value} />}
      <button type="submit" class="primary" disabled={isBusy.value}>
        Save
      </button>
    </form>
  );
}

type SourceTypeField = SourceType["fields"][number];

interface VerificationFieldsProps {
  readonly type: SourceType;
  readonly typed: Signal<TypedVerification>;
  readonly problems: readonly FormProblem[];
  /**
   * Whether the form changes an existing source. In that case its URL is known, and a second secret can be entered for
   * a rotation.
   */
  readonly isChange: boolean;
}

/** Fields of a verification scheme, as described by the API. */
export function VerificationFields({ type, typed, problems, isChange }: VerificationFieldsProps) {
  const secret = secretField(type);
  const inputOf = (field: FormField) => (
    <DescribedField
      key={field.name}
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
          Messages are not verified: anyone who knows the address can send them. Lists show a warning for this
          source.
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
          <summary>More verification settings</summary>
          <div class="form">
            {others.filter(isSeldom).map((field) => inputOf(formFieldOf(field, { isChange })))}
          </div>
        </details>
      )}
    </>
  );
}

/** Removes the API's field name from a problem, because the label of the field replaces it. */
function textOf(problem: string | null, name: string): string | null {
  if (problem === null || !problem.startsWith(name)) return problem;
  return problem.slice(name.length).replace(/^:? /, "").replace(/\.$/, "");
}

const isSeldom = ({ is_required: isRequired, name }: SourceTypeField) =>
  !isRequired && name !== "verify_token" && name !== "header" && name !== "query";

/** Buttons to generate and copy the secret. */
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
          Generate
        </button>
      )}
      {text !== "" && (
        <>
          <CopyButton text={text} label="Copy secret" /> <span class="soft">{text.length} characters</span>
        </>
      )}
    </p>
  );
}

const labels: Readonly<Record<string, string>> = {
  secrets: "Secret",
  public_keys: "Public key",
  fingerprints: "Certificate fingerprint",
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
    hint: isOfAddress ? `${description} If empty, the address of this source is used.` : hintOf(description),
    ...(kind === "choice" && { choices: [["", "default"], ...choices.map((one) => [one, one] as const)] }),
  };
}

/** Removes the API's remark on rotation from a description, because the second field explains it. */
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
    label: "Previous value, during rotation",
    kind: isSecret ? "secret" : "line",
    hint: "Messages that match either value are accepted. Leave it empty if the previous value leaked.",
  };
}

/** Verification schemes of the server. */
export function useSourceTypes() {
  return useApi<Page<SourceType>>({ path: "v1/source-types", query: { limit: 100 } }, { everyMs: false });
}

export function useSourceType(type: string): SourceType | null {
  return useSourceTypes().data?.data.find((one) => one.type === type) ?? null;
}
