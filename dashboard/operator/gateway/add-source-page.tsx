import { signal, useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { SourceAddress, SourceType } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { mayManage } from "../form/action-button.tsx";
import type { FormField } from "../form/form-fields.ts";
import { ResourceForm } from "../form/resource-form.tsx";
import {
  addressFields,
  randomSecret,
  secretField,
  shortTitle,
  type TypedVerification,
  typesMatching,
  verificationOf,
} from "./source-types.ts";
import { useSourceTypes, VerificationFields } from "./verification.tsx";

/** Page on which the user selects the sender and then the verification. The setup steps are on the next page. */
export function AddSourcePage() {
  const { params } = useAddress();
  const { data, error } = useSourceTypes();
  const type = data?.data.find((one) => one.type === params.get("type"));
  return (
    <>
      <p class="trail">
        <a href={pagePath("sources")}>Sources</a>
        {type !== undefined && (
          <>
            {" "}
            / <a href={pagePath("sources/new")}>Add a source</a>
          </>
        )}
      </p>
      <h1>{type === undefined ? "Add a source" : `Add a source: ${type.title}`}</h1>
      {!mayManage() && (
        <p class="note">Adding sources requires a key with the manage role. This key is read-only.</p>
      )}
      {data === null && <NotLoaded error={error} />}
      {mayManage() && data !== null && type === undefined && <TypeChoice types={data.data} />}
      {mayManage() && type !== undefined && <NewSourceForm key={type.type} type={type} />}
    </>
  );
}

function TypeChoice({ types }: { readonly types: readonly SourceType[] }) {
  const text = useSignal("");
  const id = useId();
  const found = typesMatching(types, text.value);
  const providers = found.filter(({ provider }) => provider !== null);
  const schemes = found
    .filter(({ provider }) => provider === null)
    .toSorted((left, right) => rank(left) - rank(right));
  const { go } = useAddress();
  return (
    <>
      <p>
        Choose the sender. For a provider, signature, message IDs and event types are configured
        automatically.
      </p>
      <form
        class="field provider-search"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          const [first] = [...providers, ...schemes];
          if (first !== undefined && text.value.trim() !== "") go(addressOf(first));
        }}
      >
        <label for={id}>Search</label>
        <input
          id={id}
          type="search"
          autocomplete="off"
          placeholder="GitHub, Stripe, HMAC…"
          aria-describedby={`${id}-found`}
          value={text.value}
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
        <p id={`${id}-found`} class="soft" role="status">
          {found.length === 0
            ? "No matches. “HMAC in a header” works for most other senders."
            : `Providers: ${providers.length}. Generic schemes: ${schemes.length}.`}
        </p>
      </form>
      <TypeList title="Providers" types={providers} />
      <TypeList title="Generic schemes" types={schemes} />
    </>
  );
}

/** The most common schemes come first, and combinations and `none` last. */
function rank({ type }: SourceType): number {
  if (["hmac", "standard_webhooks"].includes(type)) return 0;
  return ["any_of", "all_of", "none"].includes(type) ? 2 : 1;
}

function addressOf({ type }: SourceType): string {
  return `${pagePath("sources/new")}?type=${encodeURIComponent(type)}`;
}

function TypeList({ title, types }: { readonly title: string; readonly types: readonly SourceType[] }) {
  if (types.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2 class="provider-head">{title}</h2>
      <ul class="providers">
        {types.map((type) => (
          <li key={type.type}>
            <a href={addressOf(type)} data-command={`Add a source: ${type.title}`}>
              <strong>{shortTitle(type)}</strong>
              <span class="soft">{type.type}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

const plainFields: readonly FormField[] = [
  { name: "name", label: "Name", kind: "line", hint: "Shown in lists and used by posthorn listen --source." },
  {
    name: "tenant_id",
    label: "Tenant",
    kind: "line",
    hint: "Leave empty to use the default tenant.",
    isForAdmins: true,
  },
];

/** Creates the source and opens its setup page. */
function NewSourceForm({ type }: { readonly type: SourceType }) {
  const { go } = useAddress();
  const name = shortTitle(type);
  const verification = useSignal<TypedVerification>({});
  const made = useRef<SourceAddress | null>(null);
  const secret = secretField(type);
  const canComeLater = secret !== null && randomSecret(type) !== null;
  const send = async (changed: object) => {
    const typed = withSecret(type, verification.value);
    const first = withAddress(type, typed, noAddress);
    // Reuse the source if a previous attempt created it but could not set its address.
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

/** Fills an empty secret with a random one, which rejects all messages until the real secret is entered. */
function withSecret(type: SourceType, typed: TypedVerification): TypedVerification {
  const secret = secretField(type);
  if (secret === null || (typed[secret.name] ?? "").trim() !== "") return typed;
  return { ...typed, [secret.name]: randomSecret(type) ?? "" };
}

/** Fills empty required address fields with the URL of the source. */
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

/** Placeholder until the source has a URL. */
const noAddress = "https://not-known.invalid/";

function enterAddress(sourceId: string, verification: object): Promise<unknown> {
  return callApi({ method: "PATCH", path: `v1/sources/${sourceId}`, body: { verification } });
}

async function makeSource(body: object): Promise<SourceAddress> {
  return (await callApi<SourceAddress>({ method: "POST", path: "v1/sources", body })).value;
}

/**
 * Secret that was just entered, which the next page offers for copying to the sender. It is dropped when that page
 * closes.
 */
export const enteredSecret = signal<{ readonly sourceId: string; readonly text: string } | null>(null);
