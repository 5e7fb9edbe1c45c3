import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import type { SourceType } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { mayManage } from "../action-button.tsx";
import { NewSourceForm } from "./new-source-form.tsx";
import { shortTitle, typesMatching } from "./source-types.ts";
import { useSourceTypes } from "./use-source-types.ts";

/** Choice of the sender, then of the verification. The setup steps follow on the next page. */
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
        Choose the sender. For a provider, signature, message ids and event types are configured
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

/** The most common schemes come first, combinations and `none` last. */
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
