import { useSignal } from "@preact/signals";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { refreshAll, useApi } from "../../shared/queries.ts";
import { pagePath } from "../../shared/root.ts";
import { session } from "../../shared/session.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { mayAdminister } from "../action-button.tsx";
import { ResourceForm } from "../form/resource-form.tsx";
import { AccentPreview } from "./accent-preview.tsx";
import { Logos } from "./logos.tsx";
import { OpenPortal } from "./open-portal.tsx";
import { portalFields, type PortalSettings, settingsInput, typedSettings } from "./portal-fields.ts";
import { PortalSessions } from "./portal-sessions.tsx";

/** Portal settings for all tenants, or for the tenant in the address. */
export function PortalPage() {
  const { params } = useAddress();
  const tenantId = session.value?.tenant_id ?? params.get("tenant");
  const path =
    tenantId === null ? "v1/portal-settings" : `v1/tenants/${encodeURIComponent(tenantId)}/portal-settings`;
  const { data, error } = useApi<PortalSettings>({ path }, { everyMs: false });
  return (
    <>
      {tenantId !== null && mayAdminister() && (
        <p class="trail">
          <a href={pagePath("portal")}>Portal of all tenants</a>
        </p>
      )}
      <PageHead title={tenantId === null ? "Portal" : `Portal of ${tenantId}`}>
        {tenantId !== null && <OpenPortal tenantId={tenantId} />}
      </PageHead>
      {tenantId === null && (
        <p class="soft">
          Defaults for all tenants. Settings of a <a href={pagePath("tenants")}>tenant</a> override them, and
          settings of a session override both.
        </p>
      )}
      {error !== null && <ErrorNote error={error} />}
      {data !== null && (
        <>
          <SettingsForm key={path} path={path} settings={data} />
          <Logos path={path} settings={data} />
        </>
      )}
      {data === null && error === null && <p class="waiting soft">Loading…</p>}
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
