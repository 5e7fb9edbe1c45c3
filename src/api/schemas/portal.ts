/** Portal sessions and settings. */
import {
  portalRevokeFields,
  portalSessionFields,
  portalSessionShown,
  portalSettingsFields,
  portalThemeFields,
} from "../../core/fields/portal.ts";
import { portalCapabilities } from "../../core/portal/capabilities.ts";
import { closed, instant, listOf, nullableSchema, oneOf, pageProperties, tenantIdSchema } from "./building-blocks.ts";
import { schemaOf, shownSchemaOf } from "./field-schema.ts";
import { Type } from "./type.ts";

export type { PortalCapability } from "../../core/portal/capabilities.ts";

export const portalSessionInputSchema = schemaOf(portalSessionFields, {
  title: "PortalSessionInput",
  examples: [{ tenant_id: "acme", reference: "user-4711", origin: "https://app.example.com" }],
});

const portalSessionSchema = shownSchemaOf(portalSessionShown, { title: "PortalSession" });
export const portalSessionListSchema = listOf(portalSessionSchema, "PortalSessionList");
export const portalSessionQuery = closed({ ...pageProperties, tenant_id: Type.Optional(tenantIdSchema) });

export const portalSessionCreatedSchema = closed(
  {
    id: Type.String({ format: "uuid", description: "Id of the session; not a secret." }),
    tenant_id: Type.String(),
    url: Type.String({
      description: "Opens the portal once, within one minute. Hand it to the browser and do not store it.",
    }),
    code: Type.String({ description: "The one-time code in the URL, for `<posthorn-portal>`." }),
    code_expires_at: instant("Expiry of the code."),
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
    revoked: Type.Integer({ minimum: 0, description: "Number of ended sessions." }),
  },
  { title: "PortalRevoked" },
);

export const portalCodeSchema = closed(
  { code: Type.String({ minLength: 1, maxLength: 128, description: "From the fragment of the address." }) },
  { title: "PortalCode" },
);

const logoAddress = nullableSchema(Type.String({ description: "Relative to the address of the server." }));

export const portalTokenSchema = closed(
  {
    token: Type.String({
      description: "`phs_…`: send it as `Authorization: Bearer` and keep it only in memory.",
    }),
    session_id: Type.String({ format: "uuid" }),
    expires_at: instant("When the session ends."),
    capabilities: Type.Array(oneOf(portalCapabilities)),
    webhook_ids: nullableSchema(Type.Array(Type.String(), { description: "Null for all webhooks of the tenant." })),
    tenant: closed({ id: Type.String(), name: Type.String() }, { title: "PortalTenant" }),
    locale: nullableSchema(Type.String()),
    theme: shownSchemaOf(portalThemeFields, { title: "PortalTheme" }),
    theme_css: Type.String({ description: "Relative to the address of the server." }),
    logo_light: logoAddress,
    logo_dark: logoAddress,
    embedded_by: Type.Array(Type.String(), {
      description: "Origins whose pages may embed the portal in a frame.",
    }),
    public_url: Type.String({ description: "Public address of the server." }),
  },
  { title: "PortalToken" },
);

export const portalSettingsInputSchema = schemaOf(portalSettingsFields, {
  title: "PortalSettingsInput",
  examples: [{ theme: { accent: "#7a3cff", product_name: "Acme" }, origins: ["https://app.example.com"] }],
});

const accentSchema = closed(
  {
    text: Type.String({ description: "The accent colour for text." }),
    fill: Type.String({ description: "The accent colour for backgrounds, such as buttons." }),
    on_fill: Type.String({ description: "The text colour on that background." }),
  },
  { title: "PortalAccent" },
);

export const portalSettingsSchema = closed(
  {
    tenant_id: nullableSchema(Type.String({ description: "Null for the deployment." })),
    theme: nullableSchema(shownSchemaOf(portalThemeFields, { title: "PortalTheme" })),
    origins: nullableSchema(Type.Array(Type.String())),
    capabilities: nullableSchema(Type.Array(oneOf(portalCapabilities))),
    logo_light: nullableSchema(Type.String({ description: "Media type." })),
    logo_dark: nullableSchema(Type.String({ description: "Media type." })),
    accent_light: nullableSchema(accentSchema),
    accent_dark: nullableSchema(accentSchema),
    updated_at: nullableSchema(instant("Null if nothing was saved.")),
  },
  { title: "PortalSettings" },
);

const scheme = oneOf(["light", "dark"], { description: "The colour scheme of the logo." });
export const logoQuery = closed({ scheme });
export const logoQueryOptional = closed({ scheme: Type.Optional(scheme) });
