import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { now } from "../../shared/clock.ts";
import { refreshAll, useApi, useBusy } from "../../shared/queries.ts";
import { fieldText, type PortalSettings, type Row } from "../../shared/resources.ts";
import { pagePath, root } from "../../shared/root.ts";
import { session } from "../../shared/session.ts";
import { shell } from "../../shared/shell-text.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Column } from "../../shared/ui/data-table.tsx";
import { ErrorNote, NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { contrast, grounds, repairedAccent, type Scheme } from "../../../src/features/portal/contrast.ts";
import { ActionButton, mayAdminister } from "../form/action-button.tsx";
import { ResourceForm } from "../form/resource-form.tsx";
import { column } from "../lists/columns.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { Trail } from "../shell/detail-page.tsx";
import { portalFields, settingsInput, typedSettings } from "./portal-fields.ts";

/** Portal settings for all tenants, or for the tenant in the URL. */
export function PortalPage() {
  const { params } = useAddress();
  const tenantId = session.value?.tenant_id ?? params.get("tenant");
  const path =
    tenantId === null ? "v1/portal-settings" : `v1/tenants/${encodeURIComponent(tenantId)}/portal-settings`;
  const { data, error } = useApi<PortalSettings>({ path }, { everyMs: false });
  return (
    <>
      {tenantId !== null && mayAdminister() && <Trail href={pagePath("portal")}>Portal of all tenants</Trail>}
      <PageHead title={tenantId === null ? "Portal" : `Portal of ${tenantId}`}>
        {tenantId !== null && <OpenPortal tenantId={tenantId} />}
      </PageHead>
      {tenantId === null && (
        <p class="soft">
          Defaults for all tenants. Settings of a <a href={pagePath("tenants")}>tenant</a> override them, and
          session settings override both.
        </p>
      )}
      {data === null ? (
        <NotLoaded error={error} />
      ) : (
        <>
          {error !== null && <ErrorNote error={error} />}
          <SettingsForm key={path} path={path} settings={data} />
          <Logos path={path} settings={data} />
        </>
      )}
      <PortalSessions tenantId={tenantId} />
    </>
  );
}

function SettingsForm({ path, settings }: { readonly path: string; readonly settings: PortalSettings }) {
  const before = typedSettings(settings);
  const accent = useSignal(before["theme.accent"] ?? "");
  const send = async (changed: Readonly<Record<string, unknown>>) => {
    // Read the current theme first, because another operator may have changed it.
    const { value: newest } = await callApi<PortalSettings>({ path });
    await callApi({ method: "PUT", path, body: settingsInput(newest, changed) });
    announce("Saved");
    await refreshAll();
  };
  return (
    <>
      <AccentPreview accent={accent.value} />
      <ResourceForm
        fields={portalFields}
        before={before}
        isNew={false}
        seldom="Hidden pages and links"
        label="Save"
        send={send}
        onTyped={(typed) => (accent.value = typed["theme.accent"] ?? "")}
      />
    </>
  );
}

/** Live preview of the accent colour in both schemes. */
function AccentPreview({ accent }: { readonly accent: string }) {
  if (!/^#[0-9a-f]{6}$/i.test(accent.trim())) return null;
  return (
    <div class="accents">
      {(["light", "dark"] as const).map((scheme) => (
        <AccentSample key={scheme} accent={accent.trim()} scheme={scheme} />
      ))}
    </div>
  );
}

function AccentSample({ accent, scheme }: { readonly accent: string; readonly scheme: Scheme }) {
  const { text, fill, onFill } = repairedAccent(accent, scheme);
  const lowest = Math.min(...grounds[scheme].map((ground) => contrast([text, ground])));
  const isMoved = text !== accent.toLowerCase() || fill !== accent.toLowerCase();
  return (
    <figure class="accent" style={{ background: grounds[scheme][0] ?? "", colorScheme: scheme }}>
      <p style={{ color: text }}>Link</p>
      <p>
        <span class="accent-button" style={{ background: fill, color: onFill }}>
          A button
        </span>
      </p>
      <figcaption style={{ color: scheme === "light" ? "#1d2329" : "#e6e9ec" }}>
        {`In ${scheme}: ${text}, ${ratio(lowest)} on the background; ${fill} under text, ${ratio(contrast([fill, onFill]))}. `}
        {isMoved ? "Adjusted for readability." : "Readable as is."}
      </figcaption>
    </figure>
  );
}

function ratio(value: number): string {
  return `${(Math.floor(value * 10) / 10).toFixed(1)}:1`;
}

interface LogosProps {
  /** API path of the portal settings. */
  readonly path: string;
  readonly settings: PortalSettings;
}

function Logos({ path, settings }: LogosProps) {
  return (
    <Panel title="Logos" twin={{ path, cli: null }}>
      <p class="soft">
        PNG or WebP up to 64 KiB. Without a dark logo, the light logo is used in both schemes.
      </p>
      <Logo path={path} scheme="light" mediaType={settings.logo_light} />
      <Logo path={path} scheme="dark" mediaType={settings.logo_dark} />
    </Panel>
  );
}

function Logo(props: {
  readonly path: string;
  readonly scheme: "light" | "dark";
  readonly mediaType: string | null;
}) {
  const { scheme, mediaType } = props;
  const id = useId();
  const { error, run } = useBusy();
  const call = { path: `${props.path}/logo`, query: { scheme } };
  const upload = (file: File | undefined) =>
    file === undefined
      ? undefined
      : void run(async () => {
          await callApi({ ...call, method: "PUT", file });
          announce("Logo saved");
          await refreshAll();
        });
  return (
    <div class="actions">
      <label for={id}>{`Logo for the ${scheme} scheme`}</label>
      <input
        id={id}
        type="file"
        accept="image/png,image/webp"
        onChange={({ currentTarget }) => upload(currentTarget.files?.[0])}
      />
      <span class="soft">{mediaType === null ? "not set" : `${mediaType}, saved`}</span>
      {mediaType !== null && (
        <ActionButton
          label={`Remove ${scheme} logo`}
          run={() => callApi({ ...call, method: "DELETE" })}
          done="Logo removed"
        />
      )}
      {error.value !== null && <ErrorNote error={error.value} />}
    </div>
  );
}

function sessionState(row: Row): { readonly tone: Tone; readonly text: string } {
  if (row["ended_at"] !== null) return { tone: "off", text: "ended" };
  if (Date.parse(fieldText(row, "expires_at")) <= now.value) return { tone: "off", text: "expired" };
  if (row["redeemed_at"] === null) return { tone: "wait", text: "not opened" };
  return { tone: "good", text: "in use" };
}

function EndSession({ row }: { readonly row: Row }) {
  const { tone } = sessionState(row);
  if (tone === "off") return null;
  const end = () => callApi({ method: "DELETE", path: `v1/portal-sessions/${fieldText(row, "id")}` });
  const whose = fieldText(row, "reference") || fieldText(row, "tenant_id");
  return <ActionButton label={`End ${whose}`} run={end} done="Session ended" />;
}

const sessionColumns: readonly Column<Row>[] = [
  column.text("User", (row) => fieldText(row, "reference") || <span class="soft">unnamed</span>),
  column.text("Tenant", (row) => fieldText(row, "tenant_id"), "medium"),
  column.text("State", (row) => <Badge {...sessionState(row)} />),
  column.time("Created", (row) => fieldText(row, "created_at"), "medium"),
  column.time("Ends", (row) => fieldText(row, "expires_at")),
  column.text("", (row) => <EndSession row={row} />),
];

/** Portal sessions of the last day. */
function PortalSessions({ tenantId }: { readonly tenantId: string | null }) {
  return (
    <ResourceList<Row>
      title="Sessions"
      caption="Portal sessions, newest first"
      path="v1/portal-sessions"
      query={{ limit: 25, tenant_id: tenantId }}
      cli={shell`portal-sessions list`}
      columns={sessionColumns}
      none="No portal sessions in the last 24 hours."
      hasNoLinks
      isExcerpt
    />
  );
}

/** Opens the portal as this tenant, read-only. The session is recorded in the audit log. */
export function OpenPortal({ tenantId }: { readonly tenantId: string }) {
  const open = async () => {
    const { value } = await callApi<{ readonly url: string }>({
      method: "POST",
      path: "v1/portal-sessions",
      body: {
        tenant_id: tenantId,
        capabilities: ["endpoints:read", "deliveries:read", "payloads:read"],
        reference: "operator",
        theme: { product_name: `${tenantId} (read-only)`.slice(0, 60) },
      },
    });
    const { search, hash } = new URL(value.url);
    window.open(new URL(`portal/${search}${hash}`, root), "_blank", "noopener");
  };
  if (session.value?.role !== "admin") return null;
  return <ActionButton label={`Open as ${tenantId}`} run={open} done="Portal opened in a new tab" />;
}
