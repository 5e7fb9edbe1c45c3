import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { useApi } from "../../shared/queries.ts";
import type {
  GatewayRequest,
  Page,
  Source,
  SourceAddress,
  SourceConnection,
  SourceType,
} from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell, shellWord } from "../../shared/shell-text.ts";
import { Command } from "../../shared/ui/as-api.tsx";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { LinkButton, mayManage } from "../form/action-button.tsx";
import { Rows } from "../lists/list-page.tsx";
import { useRouteId } from "../shell/detail-page.tsx";
import { enteredSecret } from "./add-source-page.tsx";
import { columnsOfSource, connectionsOf } from "./connection-table.tsx";
import { RequestBadge } from "./parts.tsx";
import { nameOfRequest } from "./request-view.tsx";
import { Addresses } from "./source-page.tsx";
import { secretField, shortTitle } from "./source-types.ts";
import { ChangeVerificationButton, useSourceType } from "./verification.tsx";
import { explanationOf } from "./wording.ts";

/** Page with the setup steps for the sender, including the URL. It also shows the arrival of the first message. */
export function SetUpSourcePage() {
  const id = useRouteId();
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
          label="Enter secret"
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

const askEveryMs = 1_000;

/** Waits for the first request and explains its outcome. */
function FirstMessage(props: {
  readonly source: Source;
  /** Method of the provider's address check, if it has one. */
  readonly addressCheck: "get" | "head" | "post" | null;
}) {
  const { source, addressCheck } = props;
  const query = { source_id: source.id, limit: 5 };
  const loaded = useApi<Page<GatewayRequest>>({ path: "v1/requests", query }, { everyMs: askEveryMs });
  const rows = loaded.data?.data ?? [];
  const [newest] = rows;
  return (
    <Panel
      title="2. First message"
      loaded={loaded}
      tools={rows.length > 0 && <a href={`${pagePath("requests")}?source_id=${source.id}`}>All requests</a>}
      twin={{ path: "v1/requests", query, cli: shell`requests list --source ${source.id} --limit 5` }}
    >
      <div role="status" class="first-message">
        {newest === undefined ? (
          <p class="waiting-dots">
            Waiting for the first message
            {addressCheck !== null && " or the address check"}…
          </p>
        ) : (
          <Arrived source={source} request={newest} />
        )}
      </div>
      {newest === undefined && (
        <p class="soft">
          Follow the steps, then trigger a message at the sender. This page updates automatically.
        </p>
      )}
    </Panel>
  );
}

function Arrived({ source, request }: { readonly source: Source; readonly request: GatewayRequest }) {
  const { sentence, remedy } = explanationOf(request);
  const { id, outcome, scheme, detail, status, received_at } = request;
  const isAuthentic = outcome !== "rejected";
  return (
    <>
      <p class="verdict-text">
        <RequestBadge outcome={outcome} />{" "}
        <a href={pagePath(`requests/${id}`)}>
          <strong>{nameOfRequest(request)}</strong>
        </a>{" "}
        arrived <When at={received_at} />. Response: {status}.
      </p>
      <p>
        {isAuthentic && scheme !== null && outcome !== "challenge" && <>Verified as {scheme}. </>}
        {sentence} {remedy}
      </p>
      {!isAuthentic && detail !== null && (
        <p>
          <code>{detail}</code>
        </p>
      )}
      {status === 401 && (
        <div class="actions">
          <ChangeVerificationButton source={source} label="Change secret" />
          <a class="button" href={pagePath(`requests/${id}`)}>
            Open request to retry
          </a>
        </div>
      )}
    </>
  );
}

/** Connected webhooks, and the command to forward to a local machine. */
function WhereItGoes({ source }: { readonly source: Source }) {
  const { id, name, party } = source;
  const loaded = useApi<Page<SourceConnection>>(connectionsOf(id));
  const rows = loaded.data?.data ?? [];
  return (
    <Panel
      title="3. Forwarding"
      loaded={loaded}
      tools={
        <LinkButton
          href={`${pagePath("connections/new")}?source_id=${id}`}
          label="Connect a webhook"
          isPrimary={rows.length === 0}
        />
      }
    >
      <Rows
        caption="Connections"
        columns={columnsOfSource}
        rows={rows}
        none={
          <p>
            No webhook is connected, so senders are asked to retry later. Connect an existing or a new
            webhook.
          </p>
        }
      />
      <p>To forward to your machine during development:</p>
      <Command text={`posthorn listen --source ${shellWord(party ?? name)} --forward-to 3000`} />
    </Panel>
  );
}
