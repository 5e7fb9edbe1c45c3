import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import { duration } from "../../shared/format.ts";
import { useApi } from "../../shared/queries.ts";
import type {
  GatewayRequest,
  ServiceDescription,
  Source,
  SourceAddress,
  SourceConnection,
  SourceType,
} from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { SelectField } from "../../shared/ui/field.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, DialogButton, LinkButton, mayAdminister, mayManage } from "../form/action-button.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { DetailPage, useRouteId } from "../shell/detail-page.tsx";
import { columnsOfSource, connectionsOf } from "./connection-table.tsx";
import { SourceBadges } from "./parts.tsx";
import { listedRequestColumns } from "./request-view.tsx";
import { SourceActions } from "./source-actions.tsx";
import { textsOf } from "./source-types.ts";
import { ChangeVerificationButton, labelOf, useSourceType } from "./verification.tsx";
import { modeWords } from "./wording.ts";

export function SourcePage() {
  const id = useRouteId();
  const loaded = useApi<Source>({ path: `v1/sources/${id}` });
  const { data, error } = loaded;
  if (data === null) return <NotLoaded error={error} />;
  return (
    <DetailPage id={id} list="sources" title="Sources">
      <PageHead title={data.name} beside={<SourceBadges source={data} />}>
        {mayManage() && (
          <LinkButton href={pagePath(`sources/${id}/set-up`)} label="Set up" command="Set up at the sender" />
        )}
      </PageHead>
      {data.description !== "" && <p>{data.description}</p>}
      {data.warnings.map((warning) => (
        <p key={warning} class="note note-bad">
          {warning.charAt(0).toUpperCase()}
          {warning.slice(1)}.
        </p>
      ))}
      <SourceActions source={data} />
      <AddressPanel source={data} />
      <Connections id={id} />
      <Requests id={id} />
      <Verification source={data} />
      <ModePanel source={data} />
    </DetailPage>
  );
}

function Connections({ id }: { readonly id: string }) {
  return (
    <ResourceList<SourceConnection>
      title="Connections"
      {...connectionsOf(id)}
      cli={shell`connections list`}
      columns={columnsOfSource}
      none={
        <p class="soft">
          No connections yet. Until a webhook is connected, senders are asked to retry later. Requests are
          shown below, and <code>posthorn listen --source</code> forwards them to your machine.
        </p>
      }
      tools={
        mayManage() && (
          <LinkButton href={`${pagePath("connections/new")}?source_id=${id}`} label="Connect a webhook" />
        )
      }
      isExcerpt
    />
  );
}

function Requests({ id }: { readonly id: string }) {
  return (
    <ResourceList<GatewayRequest>
      title="Last requests"
      path="v1/requests"
      query={{ source_id: id, limit: 10 }}
      cli={shell`requests list --source ${id} --limit 10`}
      columns={listedRequestColumns}
      none="No requests yet. Rejected requests are shown too, with the reason."
      tools={<a href={`${pagePath("requests")}?source_id=${id}`}>All requests</a>}
      isExcerpt
    />
  );
}

/** Verification of the source. Secrets are masked. */
function Verification({ source }: { readonly source: Source }) {
  const { id, verification } = source;
  const { type, ...fields } = verification;
  const known = useSourceType(type ?? "");
  const provider = known?.provider ?? null;
  return (
    <Panel title="Verification" twin={{ path: `v1/sources/${id}`, cli: shell`sources get ${id}` }}>
      <Facts
        rows={[
          ["Verified as", known?.title ?? type ?? "–"],
          ...Object.entries(fields).map(([name, value]) => [labelOf(name), valueText(value)] as const),
          ...(provider === null ? [] : factsOf(provider)),
          ["Changed", <When at={source.updated_at} isExact />],
        ]}
      />
      {mayManage() && (
        <div class="actions">
          <ChangeVerificationButton source={source} label="Rotate or change" />
        </div>
      )}
    </Panel>
  );
}

function factsOf({ signature, replay_protection, documentation }: NonNullable<SourceType["provider"]>) {
  return [
    ["Signature", signature],
    ["Replay protection", replay_protection],
    [
      "Documentation",
      <a href={documentation} target="_blank" rel="noreferrer">
        {new URL(documentation).hostname}
      </a>,
    ],
  ] as const;
}

function valueText(value: unknown): string {
  const texts = textsOf(value);
  const isMasked = texts.every((text) => text === "…");
  if (isMasked) return texts.length === 1 ? "stored, masked" : `${texts.length} stored, masked`;
  return texts.join(", ");
}

/** URL of the source. Shown only on demand, because anyone who knows it can send requests. */
function AddressPanel({ source }: { readonly source: Source }) {
  const { id } = source;
  const shown = useSignal<SourceAddress | null>(null);
  const show = async () => {
    shown.value = (await callApi<SourceAddress>({ path: `v1/sources/${id}/address` })).value;
  };
  return (
    <Panel title="Address" twin={{ path: `v1/sources/${id}/address`, cli: shell`sources address ${id}` }}>
      {shown.value === null ? (
        <p class="soft">
          Anyone who knows the address can send requests.{" "}
          {mayManage() ? "Share it only with the sender." : "Showing it requires a key with the manage role."}
        </p>
      ) : (
        <Addresses address={shown.value} />
      )}
      {mayManage() && (
        <div class="actions">
          {shown.value === null && <ActionButton label="Show address" run={show} done="Address shown" />}
          <RotateAddressButton id={id} rotated={(address) => (shown.value = address)} />
        </div>
      )}
    </Panel>
  );
}

export function Addresses({ address: { url, party_url } }: { readonly address: SourceAddress }) {
  return (
    <>
      <AddressLine url={url} label="Copy address" />
      {party_url !== null && (
        <>
          <p class="soft">Address by party name, which is not secret:</p>
          <AddressLine url={party_url} label="Copy party address" />
        </>
      )}
    </>
  );
}

function AddressLine({ url, label }: { readonly url: string; readonly label: string }) {
  return (
    <div class="command">
      <code>{url}</code>
      <CopyButton text={url} label={label} />
    </div>
  );
}

/** Choices for the overlap of two secrets: seconds and label. */
const overlaps = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "1 week"],
  ["0", "revoke now: the address leaked"],
] as const;

function RotateAddressButton(props: {
  readonly id: string;
  readonly rotated: (address: SourceAddress) => void;
}) {
  const overlap = useSignal("86400");
  const rotate = async () => {
    const { value } = await callApi<SourceAddress>({
      method: "POST",
      path: `v1/sources/${props.id}/address/rotate`,
      body: { overlap_seconds: Number(overlap.value) },
    });
    props.rotated(value);
  };
  return (
    <DialogButton label="Rotate address" title="Rotate the address of this source?">
      {(close) => (
        <div class="form">
          <p>Enter the new address at the sender.</p>
          <SelectField label="Keep the old address for" value={overlap} options={overlaps} />
          <p>
            <ActionButton label="Rotate" isPrimary run={() => rotate().then(close)} done="Address rotated" />
          </p>
        </div>
      )}
    </DialogButton>
  );
}

const dayMs = 86_400_000;

/** Response mode of the source, and who acknowledged store-and-forward mode. */
function ModePanel({ source }: { readonly source: Source }) {
  const { id, mode, effective_mode, acknowledged_by: by, acknowledged_at: at } = source;
  const isStored = effective_mode === "store_and_forward";
  return (
    <Panel
      title="When senders get a response"
      twin={{ path: `v1/sources/${id}`, cli: shell`sources get ${id}` }}
    >
      <p class="verdict-text">
        {isStored
          ? "As soon as the message is stored. Retries, dead letters and ordering work as for published events."
          : "After the webhook responds, with its status. There is one attempt. Retries are up to the sender."}
      </p>
      <Facts
        rows={[
          ["Effective mode", modeWords[effective_mode]],
          mode !== effective_mode && ["Configured mode", modeWords[mode]],
          ["Acknowledged by", by ?? "–"],
          ["Acknowledged", <When at={at} isExact />],
          ["Response time limit", duration(source.budget_ms)],
          ["Deduplication window", `${Math.round(source.dedup_window_ms / dayMs)} days`],
        ]}
      />
      {mayManage() && (
        <div class="actions">
          {isStored ? (
            <ActionButton
              label="Switch to pass-through"
              run={() => setMode(id, "pass_through")}
              done="Switched to pass-through"
            />
          ) : (
            <StoreButton source={source} />
          )}
        </div>
      )}
    </Panel>
  );
}

function setMode(id: string, mode: Source["mode"]): Promise<unknown> {
  return callApi({ method: "PATCH", path: `v1/sources/${id}`, body: { mode } });
}

/** Shows the service description and records its acknowledgement. */
function StoreButton({ source }: { readonly source: Source }) {
  if (!mayAdminister())
    return (
      <p class="soft">
        An administrator can switch to store and forward after acknowledging the service description on behalf
        of the senders.
      </p>
    );
  return (
    <DialogButton label="Store and forward" title="Store and forward?">
      {(close) => <Acknowledgement id={source.id} done={close} />}
    </DialogButton>
  );
}

function Acknowledgement({ id, done }: { readonly id: string; readonly done: () => void }) {
  const { data, error } = useApi<ServiceDescription>({ path: "service-description" }, { everyMs: false });
  if (data === null) return <NotLoaded error={error} />;
  const { version, modes, durability, idempotency_key, retention } = data;
  const acknowledge = async () => {
    await callApi({ method: "POST", path: `v1/sources/${id}/acknowledge`, body: { version } });
    await setMode(id, "store_and_forward");
    done();
  };
  return (
    <div class="form">
      <p>
        Senders then get a response before the message is delivered. The operator of the sender must know
        which guarantees apply. They are published at <code>/service-description</code>:
      </p>
      <Facts
        rows={[
          ["Store and forward", String(modes["store_and_forward"])],
          ["Durability", durability],
          ["Idempotency key", idempotency_key],
          ["Payloads are kept", `${String(retention["payload_days"])} days`],
          ["Version", <code>{version}</code>],
        ]}
      />
      <p>
        <ActionButton
          label="Acknowledge and switch"
          isPrimary
          run={acknowledge}
          done="Switched to store and forward"
        />
      </p>
    </div>
  );
}
