/** Sessions of the portal and its settings. */
import {
  portalRevokeFields,
  portalSessionFields,
  portalSessionShown,
  portalSettingsFields,
  portalThemeFields,
} from "../../core/fields/portal.ts";
import { portalCapabilities } from "../../core/portal/capabilities.ts";
import { closed, instant, listOf, nullable, oneOf, pageProperties, tenantId } from "./building-blocks.ts";
import { schemaOf, shownSchemaOf } from "./field-schema.ts";
import { Type } from "./type.ts";

export type { PortalCapability } from "../../core/portal/capabilities.ts";

export const portalSessionInputSchema = schemaOf(portalSessionFields, {
  title: "PortalSessionInput",
  examples: [{ tenant_id: "acme", reference: "user-4711", origin: "https://app.example.com" }],
});

const portalSessionSchema = shownSchemaOf(portalSessionShown, { title: "PortalSession" });
export const portalSessionListSchema = listOf(portalSessionSchema, "PortalSessionList");
export const portalSessionQuery = closed({ ...pageProperties, tenant_id: Type.Optional(tenantId) });

export const portalSessionCreatedSchema = closed(
  {
    id: Type.String({ format: "uuid", description: "Id of the session; no secret." }),
    tenant_id: Type.String(),
    url: Type.String({
      description: "Opens the portal, once and within a minute. Hand it to the browser, and keep it nowhere.",
    }),
    code: Type.String({ description: "The one-time code in it, for `<posthorn-portal>`." }),
    code_expires_at: instant("Until then it has to be used."),
    expires_at: instant("When the session ends."),
    capabilities: Type.Array(oneOf(portalCapabilities)),
  },
  { title: "PortalSessionCreated" },
);

export const portalRevokeSchema = schemaOf(portalRevokeFields, {
  title: "PortalRevoke",
  examples: [{ tenant_id: "acme", reference: "user-4711" }],
});
export const portalRevokedSchema = closed(
  {
    tenant_id: Type.String(),
    revoked: Type.Integer({ minimum: 0, description: "How many sessions ended." }),
  },
  { title: "PortalRevoked" },
);

export const portalCodeSchema = closed(
  { code: Type.String({ minLength: 1, maxLength: 128, description: "From the fragment of the address." }) },
  { title: "PortalCode" },
);

const logoAddress = nullable(Type.String({ description: "Relative to the address of the server." }));

export const portalTokenSchema = closed(
  {
    token: Type.String({
      description: "`phs_…`: send it as `Authorization: Bearer`, keep it in memory alone.",
    }),
    session_id: Type.String({ format: "uuid" }),
    expires_at: instant("When the session ends."),
    capabilities: Type.Array(oneOf(portalCapabilities)),
    webhook_ids: nullable(Type.Array(Type.String(), { description: "Null is all of the tenant." })),
    tenant: closed({ id: Type.String(), name: Type.String() }, { title: "PortalTenant" }),
    locale: nullable(Type.String()),
    theme: shownSchemaOf(portalThemeFields, { title: "PortalTheme" }),
    theme_css: Type.String({ description: "Relative to the address of the server." }),
    logo_light: logoAddress,
    logo_dark: logoAddress,
    embedded_by: Type.Array(Type.String(), { description: "Origins of pages that may show it in a frame." }),
    public_url: Type.String({ description: "Where the server is reached." }),
  },
  { title: "PortalToken" },
);

export const portalSettingsInputSchema = schemaOf(portalSettingsFields, {
  title: "PortalSettingsInput",
  examples: [{ theme: { accent: "#7a3cff", product_name: "Acme" }, origins: ["https://app.example.com"] }],
});

const accentSchema = closed(
  {
    text: Type.String({ description: "The accent as text." }),
    fill: Type.String({ description: "Behind text, as on a button." }),
    on_fill: Type.String({ description: "Of that text." }),
  },
  { title: "PortalAccent" },
);

export const portalSettingsSchema = closed(
  {
    tenant_id: nullable(Type.String({ description: "Null for the deployment." })),
    theme: nullable(shownSchemaOf(portalThemeFields, { title: "PortalTheme" })),
    origins: nullable(Type.Array(Type.String())),
    capabilities: nullable(Type.Array(oneOf(portalCapabilities))),
    logo_light: nullable(Type.String({ description: "Its media type." })),
    logo_dark: nullable(Type.String({ description: "Its media type." })),
    accent_light: nullable(accentSchema),
    accent_dark: nullable(accentSchema),
    updated_at: nullable(instant("Null while nothing was saved.")),
  },
  { title: "PortalSettings" },
);

const scheme = oneOf(["light", "dark"], { description: "Which of the two it is for." });
export const logoQuery = closed({ scheme });
export const logoQueryOptional = closed({ scheme: Type.Optional(scheme) });
