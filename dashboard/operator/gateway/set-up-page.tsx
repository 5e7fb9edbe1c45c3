import { useRoute } from "preact-iso";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { useApi } from "../../shared/queries.ts";
import type { Source, SourceAddress, SourceType } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { mayManage } from "../action-button.tsx";
import { Addresses } from "./address-panel.tsx";
import { ChangeVerificationButton } from "./change-verification.tsx";
import { enteredSecret } from "./entered-secret.ts";
import { FirstMessage } from "./first-message.tsx";
import { secretField, shortTitle } from "./source-types.ts";
import { useSourceType } from "./use-source-types.ts";
import { WhereItGoes } from "./where-it-goes.tsx";

/** Setup steps at the sender with the address filled in, and the arrival of the first message. */
export function SetUpSourcePage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const source = useApi<Source>({ path: `v1/sources/${id}` });
  const address = useApi<SourceAddress>(mayManage() ? { path: `v1/sources/${id}/address` } : null, {
    everyMs: false,
  });
  const type = useSourceType(source.data?.verification.type ?? "");
  useEffect(() => () => void (enteredSecret.value = null), []);
  const { data } = source;
  if (!mayManage())
    return <p class="note">Showing the address of a source requires a key with the manage role.</p>;
  if (data === null || address.data === null) return <NotLoaded error={source.error ?? address.error} />;
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("sources")}>Sources</a> / <a href={pagePath(`sources/${id}`)}>{data.name}</a>
      </p>
      <h1>Set up {data.name}</h1>
      <Panel title={`1. At ${type === null || type.provider === null ? "the sender" : shortTitle(type)}`}>
        <Addresses address={address.data} />
        <SecretNote source={data} />
        <Steps type={type} url={address.data.url} />
      </Panel>
      <FirstMessage source={data} addressCheck={type?.provider?.address_check ?? null} />
      <WhereItGoes source={data} />
    </div>
  );
}

/** Copy button for the secret that was just entered, or a warning that it is missing. */
function SecretNote({ source }: { readonly source: Source }) {
  const { params, set } = useAddress();
  const entered = enteredSecret.value?.sourceId === source.id ? enteredSecret.value.text : null;
  if (entered !== null)
    return (
      <p class="command">
        <code>The secret you entered ({entered.length} characters)</code>
        <CopyButton text={entered} label="Copy secret" />
      </p>
    );
  if (params.get("secret") !== "later") return null;
  return (
    <div class="note note-bad">
      <p>The secret has not been entered yet. All messages are rejected.</p>
      <p class="actions">
        <ChangeVerificationButton
          source={source}
          label="Enter secret…"
          isPrimary
          changed={() => set({ secret: [] }, "replace")}
        />
      </p>
    </div>
  );
}

/** Setup steps for senders that are not known providers. */
function usualSteps(type: SourceType | null): readonly string[] {
  const isShared = type !== null && secretField(type)?.is_secret === true;
  return [
    "Enter {url} as the webhook URL, with method POST.",
    ...(isShared ? ["Enter the same secret at the sender and as {secret}."] : []),
  ];
}

function Steps({ type, url }: { readonly type: SourceType | null; readonly url: string }) {
  const provider = type?.provider ?? null;
  return (
    <>
      <ol class="steps">
        {(provider?.steps ?? usualSteps(type)).map((step) => (
          <li key={step}>
            <Step text={step} url={url} />
          </li>
        ))}
      </ol>
      {provider !== null && (
        <p class="soft">
          <a href={provider.documentation} target="_blank" rel="noreferrer">
            {type?.title} documentation
          </a>
          {provider.remarks.map((remark) => ` ${remark.replaceAll("`", "")}`)}
        </p>
      )}
    </>
  );
}

/** Replaces the placeholders `{url}` and `{secret}` in a step. */
function Step({ text, url }: { readonly text: string; readonly url: string }) {
  return (
    <>
      {text.split(/(\{url\}|\{secret\})/).map((part, index): ComponentChildren => {
        if (part === "{url}")
          return (
            <span key={index} class="step-url">
              <code>{url}</code>
              <CopyButton text={url} label="Copy address" />
            </span>
          );
        return part === "{secret}" ? <strong key={index}>the secret of this source</strong> : part;
      })}
    </>
  );
}
