import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { SourceAddress, SourceType } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import type { FormField } from "../form/form-fields.ts";
import { ResourceForm } from "../form/resource-form.tsx";
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
  const { go } = useAddress();
  const name = shortTitle(type);
  const verification = useSignal<TypedVerification>({});
  const made = useRef<SourceAddress | null>(null);
  const secret = secretField(type);
  const canComeLater = secret !== null && randomSecret(type) !== null;
  const send = async (changed: object) => {
    const typed = withSecret(type, verification.value);
    const first = withAddress(type, typed, noAddress);
    // One that was made before its address could be entered is not made again.
    made.current ??= await makeSource({ name, ...changed, verification: verificationOf(type, first) });
    const { url, source_id: sourceId } = made.current;
    if (first !== typed) await enterAddress(sourceId, verificationOf(type, withAddress(type, typed, url)));
    const given = secret === null ? "" : (verification.value[secret.name] ?? "").trim();
    const isLater = given === "" && canComeLater;
    enteredSecret.value = given === "" ? null : { sourceId, text: given };
    announce("Made");
    await refreshAll();
    go(`${pagePath(`sources/${sourceId}/set-up`)}${isLater ? "?secret=later" : ""}`);
  };
  return (
    <ResourceForm
      fields={plainFields}
      before={{ name }}
      isNew
      label="Make the address"
      send={send}
      middle={({ problems }) => (
        <VerificationFields type={type} typed={verification} problems={problems} isChange={false} />
      )}
    >
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
    </ResourceForm>
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

async function makeSource(body: object): Promise<SourceAddress> {
  return (await callApi<SourceAddress>({ method: "POST", path: "v1/sources", body })).value;
}
