import { useSignal } from "@preact/signals";
import { useRoute } from "preact-iso";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { duration } from "../../shared/format.ts";
import { useApi } from "../../shared/queries.ts";
import type {
  GatewayRequest,
  Page,
  ServiceDescription,
  Source,
  SourceAddress,
  SourceType,
} from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { session } from "../../shared/session.ts";
import { shell } from "../../shared/shell-text.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { Modal } from "../../shared/ui/modal.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, mayManage } from "../form/action-button.tsx";
import { ConnectionTable, useConnectionsOf } from "./connection-table.tsx";
import { SourceBadges } from "./parts.tsx";
import { RequestTable } from "./request-table.tsx";
import { SourceActions } from "./source-actions.tsx";
import { textsOf } from "./source-types.ts";
import { ChangeVerificationButton, labelOf, useSourceType } from "./verification.tsx";
import { modeWords } from "./wording.ts";

export function SourcePage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const loaded = useApi<Source>({ path: `v1/sources/${id}` });
  const { data, error } = loaded;
  if (data === null) return <NotLoaded error={error} />;
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("sources")}>Sources</a>
      </p>
      <PageHead title={data.name} beside={<SourceBadges source={data} />}>
        {mayManage() && (
          <a class="button" href={pagePath(`sources/${id}/set-up`)} data-command="Set up at the sender">
            Set up
          </a>
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
    </div>
  );
}

function Connections({ id }: { readonly id: string }) {
  const loaded = useConnectionsOf(id);
  return (
    <Panel
      title="Connections"
      loaded={loaded}
      tools={
        mayManage() && (
          <a
            class="button"
            href={`${pagePath("connections/new")}?source_id=${id}`}
            data-command="Connect a webhook"
          >
            Connect a webhook
          </a>
        )
      }
      twin={{ path: "v1/connections", query: { source_id: id }, cli: shell`connections list` }}
    >
      {loaded.data?.data.length === 0 ? (
        <p class="soft">
          No connections yet. Until a webhook is connected, senders are asked to retry later. Requests are
          shown below, and <code>posthorn listen --source</code> forwards them to your machine.
        </p>
      ) : (
        <ConnectionTable rows={loaded.data?.data ?? []} withoutSource />
      )}
    </Panel>
  );
}

function Requests({ id }: { readonly id: string }) {
  const query = { source_id: id, limit: 10 };
  const loaded = useApi<Page<GatewayRequest>>({ path: "v1/requests", query });
  const rows = loaded.data?.data ?? [];
  return (
    <Panel
      title="Last requests"
      loaded={loaded}
      tools={<a href={`${pagePath("requests")}?source_id=${id}`}>All requests</a>}
      twin={{ path: "v1/requests", query, cli: shell`requests list --source ${id} --limit 10` }}
    >
      {rows.length === 0 ? (
        <p class="soft">No requests yet. Rejected requests are shown too, with the reason.</p>
      ) : (
        <RequestTable caption="Last requests" rows={rows} />
      )}
    </Panel>
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
          ["Changed", <When key="changed" at={source.updated_at} isExact />],
        ]}
      />
      {mayManage() && (
        <div class="actions">
          <ChangeVerificationButton source={source} label="Rotate or change…" />
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
      <a key="documentation" href={documentation} target="_blank" rel="noreferrer">
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

/** Address of the source. Shown on demand, because anyone who knows it can send requests. */
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

const overlaps: readonly (readonly [string, string])[] = [
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "1 week"],
  ["0", "revoke now: the address leaked"],
];

function RotateAddressButton(props: {
  readonly id: string;
  readonly rotated: (address: SourceAddress) => void;
}) {
  const isAsking = useSignal(false);
  const overlap = useSignal("86400");
  const fieldId = useId();
  const rotate = async () => {
    const { value } = await callApi<SourceAddress>({
      method: "POST",
      path: `v1/sources/${props.id}/address/rotate`,
      body: { overlap_seconds: Number(overlap.value) },
    });
    props.rotated(value);
    isAsking.value = false;
    announce("Address rotated");
  };
  return (
    <>
      <button type="button" data-command="Rotate address…" onClick={() => (isAsking.value = true)}>
        Rotate address…
      </button>
      {isAsking.value && (
        <Modal title="Rotate the address of this source?" onClose={() => (isAsking.value = false)}>
          <div class="form">
            <p>Enter the new address at the sender.</p>
            <div class="field">
              <label for={fieldId}>Keep the old address for</label>
              <select
                id={fieldId}
                value={overlap.value}
                onChange={({ currentTarget }) => (overlap.value = currentTarget.value)}
              >
                {overlaps.map(([seconds, text]) => (
                  <option key={seconds} value={seconds}>
                    {text}
                  </option>
                ))}
              </select>
            </div>
            <p>
              <ActionButton label="Rotate" isPrimary run={rotate} done="Rotated" />
            </p>
          </div>
        </Modal>
      )}
    </>
  );
}

const dayMs = 86_400_000;

/** Response mode of the source, and who acknowledged store and forward. */
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
          ...(mode === effective_mode ? [] : [["Configured mode", modeWords[mode]] as const]),
          ["Acknowledged by", by ?? "–"],
          ["Acknowledged", <When key="at" at={at} isExact />],
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
  const isAsking = useSignal(false);
  if (session.value?.role !== "admin")
    return (
      <p class="soft">
        An administrator can switch to store and forward after acknowledging the service description on behalf
        of the senders.
      </p>
    );
  return (
    <>
      <button type="button" data-command="Store and forward…" onClick={() => (isAsking.value = true)}>
        Store and forward…
      </button>
      {isAsking.value && (
        <Modal title="Store and forward?" onClose={() => (isAsking.value = false)}>
          <Acknowledgement id={source.id} done={() => (isAsking.value = false)} />
        </Modal>
      )}
    </>
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
        Senders then get a response before the message is delivered. The operator of the sender must know what
        this guarantees. It is public at <code>/service-description</code>:
      </p>
      <Facts
        rows={[
          ["Store and forward", String(modes["store_and_forward"])],
          ["Durability", durability],
          ["Idempotency key", idempotency_key],
          ["Payloads are kept", `${String(retention["payload_days"])} days`],
          ["Version", <code key="version">{version}</code>],
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
