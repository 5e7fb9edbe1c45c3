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
  { name: "name", label: "Name", kind: "line", hint: "Shown in lists and used by posthorn listen --source." },
  {
    name: "tenant_id",
    label: "Tenant",
    kind: "line",
    hint: "If empty, the default tenant.",
    isForAdmins: true,
  },
];

/** Creates the source and opens its setup page. */
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
    // Reuse the source if entering its address failed in an earlier try.
    made.current ??= await makeSource({ name, ...changed, verification: verificationOf(type, first) });
    const { url, source_id: sourceId } = made.current;
    if (first !== typed) await enterAddress(sourceId, verificationOf(type, withAddress(type, typed, url)));
    const given = secret === null ? "" : (verification.value[secret.name] ?? "").trim();
    const isLater = given === "" && canComeLater;
    enteredSecret.value = given === "" ? null : { sourceId, text: given };
    announce("Source created");
    await refreshAll();
    go(`${pagePath(`sources/${sourceId}/set-up`)}${isLater ? "?secret=later" : ""}`);
  };
  return (
    <ResourceForm
      fields={plainFields}
      before={{ name }}
      isNew
      label="Create source"
      send={send}
      middle={({ problems }) => (
        <VerificationFields type={type} typed={verification} problems={problems} isChange={false} />
      )}
    >
      {canComeLater && (
        <p class="soft">
          Some senders show the secret only after you enter the address. In that case, leave it empty. All
          messages are rejected until you enter the secret on the next page.
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

/** Fills an empty secret with a random one, so that nothing is accepted until the real secret is entered. */
function withSecret(type: SourceType, typed: TypedVerification): TypedVerification {
  const secret = secretField(type);
  if (secret === null || (typed[secret.name] ?? "").trim() !== "") return typed;
  return { ...typed, [secret.name]: randomSecret(type) ?? "" };
}

/** Fills empty required address fields with the address of the source. */
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

/** Placeholder until the source has an address. */
const noAddress = "https://not-known.invalid/";

function enterAddress(sourceId: string, verification: object): Promise<unknown> {
  return callApi({ method: "PATCH", path: `v1/sources/${sourceId}`, body: { verification } });
}

async function makeSource(body: object): Promise<SourceAddress> {
  return (await callApi<SourceAddress>({ method: "POST", path: "v1/sources", body })).value;
}
