import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { SourceAddress, SourceType } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { session } from "../../shared/session.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { problemOf, type FormField } from "../form/form-fields.ts";
import { FormInput } from "../form/form-input.tsx";
import { useFormSending } from "../form/use-form-sending.ts";
import { enteredSecret } from "./entered-secret.ts";
import {
  addressFields,
  randomSecret,
  secretField,
  shortTitle,
  verificationOf,
  type TypedVerification,
} from "./source-types.ts";
import { VerificationFields } from "./verification-fields.tsx";

const plainFields: readonly FormField[] = [
  { name: "name", label: "Name", kind: "line", hint: "For people, and for posthorn listen --source." },
  {
    name: "tenant_id",
    label: "Tenant",
    kind: "line",
    hint: "The default tenant when left empty.",
    isForAdmins: true,
  },
];

/** Makes the source, and leads to the steps at the sender. */
export function NewSourceForm({ type }: { readonly type: SourceType }) {
  const id = useId();
  const { go } = useAddress();
  const plain = useSignal<TypedVerification>({ name: shortTitle(type) });
  const verification = useSignal<TypedVerification>({});
  const made = useRef<SourceAddress | null>(null);
  const { form, problems, error, isBusy, submit } = useFormSending();
  const secret = secretField(type);
  const canComeLater = secret !== null && randomSecret(type) !== null;
  const send = async () => {
    const typed = withSecret(type, verification.value);
    const first = withAddress(type, typed, noAddress);
    // One that was made before its address could be entered is not made again.
    made.current ??= await makeSource({ plain: plain.value, verification: verificationOf(type, first) });
    const { url, source_id: sourceId } = made.current;
    if (first !== typed) await enterAddress(sourceId, verificationOf(type, withAddress(type, typed, url)));
    const given = secret === null ? "" : (verification.value[secret.name] ?? "").trim();
    const isLater = given === "" && canComeLater;
    enteredSecret.value = given === "" ? null : { sourceId, text: given };
    announce("Made");
    await refreshAll();
    go(`${pagePath(`sources/${sourceId}/set-up`)}${isLater ? "?secret=later" : ""}`);
  };
  const shown = plainFields.filter(
    ({ isForAdmins = false }) => !isForAdmins || session.value?.tenant_id === null,
  );
  return (
    <form
      ref={form}
      class="form panel"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit({ body: {}, problems: [] }, send);
      }}
    >
      {shown.map((field) => (
        <FormInput
          key={field.name}
          id={`${id}-${field.name}`}
          field={field}
          text={plain.value[field.name] ?? ""}
          problem={problemOf(problems.value, field.name)}
          change={(text) => (plain.value = { ...plain.value, [field.name]: text })}
        />
      ))}
      <VerificationFields type={type} typed={verification} problems={problems.value} isChange={false} />
      {canComeLater && (
        <p class="soft">
          Some senders give the secret only after they were told the address: leave it empty then. Nothing is
          let in until you enter it on the next page.
        </p>
      )}
      {type.provider !== null && type.provider.remarks.length > 0 && (
        <ul class="samples soft">
          {type.provider.remarks.map((remark) => (
            <li key={remark}>{remark.replaceAll("`", "")}</li>
          ))}
        </ul>
      )}
      {error.value !== null && <ErrorNote error={error.value} />}
      <button type="submit" class="primary" disabled={isBusy.value}>
        Make the address
      </button>
    </form>
  );
}

/** With a secret that nobody knows where it comes later, so that nothing is let in before. */
function withSecret(type: SourceType, typed: TypedVerification): TypedVerification {
  const secret = secretField(type);
  if (secret === null || (typed[secret.name] ?? "").trim() !== "") return typed;
  return { ...typed, [secret.name]: randomSecret(type) ?? "" };
}

/** With the address of the source in the fields that need it and were left empty; the same where there are none. */
function withAddress(type: SourceType, typed: TypedVerification, url: string): TypedVerification {
  const left = type.fields.filter(
    ({ name, is_required }) =>
      is_required && addressFields[name] !== undefined && (typed[name] ?? "").trim() === "",
  );
  if (left.length === 0) return typed;
  return {
    ...typed,
    ...Object.fromEntries(left.map(({ name }) => [name, addressFields[name]?.(url) ?? ""])),
  };
}

/** Stands for the address of a source until there is one. */
const noAddress = "https://not-known.invalid/";

function enterAddress(sourceId: string, verification: object): Promise<unknown> {
  return callApi({ method: "PATCH", path: `v1/sources/${sourceId}`, body: { verification } });
}

async function makeSource(order: {
  readonly plain: TypedVerification;
  readonly verification: object;
}): Promise<SourceAddress> {
  const { name = "", tenant_id = "" } = order.plain;
  const body = {
    name: name.trim(),
    verification: order.verification,
    ...(tenant_id.trim() !== "" && { tenant_id: tenant_id.trim() }),
  };
  return (await callApi<SourceAddress>({ method: "POST", path: "v1/sources", body })).value;
}
