import { useRoute } from "preact-iso";
import { useApi } from "../../shared/queries.ts";
import type { GatewayRequest, Page, Source, SourceType } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { mayManage } from "../action-button.tsx";
import { AddressPanel } from "./address-panel.tsx";
import { ChangeVerificationButton } from "./change-verification.tsx";
import { ConnectionTable, useConnectionsOf } from "./connection-table.tsx";
import { ModePanel } from "./mode-panel.tsx";
import { RequestTable } from "./request-table.tsx";
import { SourceActions } from "./source-actions.tsx";
import { SourceBadges } from "./source-badges.tsx";
import { textsOf } from "./source-types.ts";
import { useSourceType } from "./use-source-types.ts";
import { labelOf } from "./verification-fields.tsx";

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
