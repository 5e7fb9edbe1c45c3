import { portalCapabilities } from "../domain/scope.ts";
import {
  choice,
  described,
  type Fields,
  id,
  type InputOf,
  integer,
  line,
  list,
  nullable,
  object,
  required,
  time,
  word,
} from "./field.ts";
import { tenantIdField } from "./names.ts";
import { defineResource, type OptionTable } from "./resource.ts";
import {
  closed,
  idParam,
  instant,
  instantOrNull,
  nullableSchema,
  oneOf,
  schemaOf,
  shownSchemaOf,
  textOrNull,
  Type,
} from "./schema.ts";

/** Portal sessions, and the portal's appearance: for the deployment, for a tenant, or for one session. */

/** Wildcards are not allowed, and neither are characters that could end a directive of a Content-Security-Policy. */
const originField = word({
  lengthMin: 9,
  lengthMax: 255,
  pattern: "^(https://[a-z0-9][a-z0-9.-]*|http://(localhost|127\\.0\\.0\\.1|\\[::1\\]))(:[0-9]{1,5})?$",
  rule: "an origin such as https://app.example.com, without a path; http only for this machine",
  examples: ["https://app.example.com"],
});

const linkField = (doc: string) =>
  nullable(
    word({
      lengthMin: 8,
      lengthMax: 1_024,
      pattern: "^https?://[^\\s\"'<>\\\\^`{|}\\u0000-\\u001f\\u007f]+$",
      rule: "an address that begins with https:// or http://",
      doc,
      examples: ["https://app.example.com/settings"],
    }),
  );

const portalDensities = ["comfortable", "compact"] as const;
const portalSchemes = ["auto", "light", "dark", "host"] as const;
const portalNouns = ["endpoint", "webhook", "destination"] as const;
const portalPages = ["activity", "event_types", "notifications", "help"] as const;

/**
 * A value that is omitted or null is inherited from the next level. The levels are session, tenant, deployment, and
 * Posthorn's defaults.
 */
export const portalThemeFields = {
  accent: nullable(
    word({
      lengthMin: 7,
      lengthMax: 7,
      pattern: "^#[0-9a-fA-F]{6}$",
      rule: "a colour of six hexadecimal digits such as #0b63ce",
      doc: "The lightness of this colour is adjusted until both the text on it and the colour on the background reach a contrast of 4.5:1.",
      examples: ["#0b63ce"],
    }),
  ),
  radius: nullable(integer({ min: 0, max: 24, doc: "Corner radius in pixels." })),
  density: nullable(choice(portalDensities)),
  font: nullable(
    word({
      lengthMax: 64,
      pattern: "^[A-Za-z0-9][A-Za-z0-9 _-]*$",
      rule: "system, serif, mono or the name of a font",
      doc: "`system`, `serif`, `mono`, or the name of a font installed on the user's device. Never downloaded.",
      examples: ["system"],
    }),
  ),
  scheme: nullable(
    choice(portalSchemes, {
      doc: "`auto` follows the user's system; `host` follows the page around the frame.",
    }),
  ),
  productName: nullable(line({ lengthMin: 1, lengthMax: 60, doc: "Shown at the top and in the title." })),
  words: nullable(choice(portalNouns, { doc: "What an endpoint is called in the portal." })),
  hide: nullable(list(choice(portalPages), { countMin: 0, countMax: 4, isSet: true, doc: "Pages to hide." })),
  docsUrl: linkField("A link to your own documentation."),
  supportUrl: linkField("A link to where people get help."),
  returnUrl: linkField("Where to send users whose session has ended."),
} satisfies Fields;
export type PortalTheme = InputOf<typeof portalThemeFields>;

const capabilities = list(choice(portalCapabilities), {
  countMin: 0,
  countMax: portalCapabilities.length,
  isSet: true,
});

export const portalSettingsFields = {
  theme: nullable(
    object(portalThemeFields, { title: "PortalThemeInput", doc: "Replaces the previous value completely." }),
  ),
  origins: nullable(
    list(originField, {
      countMin: 0,
      countMax: 50,
      isSet: true,
      doc: "Origins of pages that may show the portal in a frame, in addition to the `origin` of a session.",
    }),
  ),
  capabilities: nullable({ ...capabilities, doc: "Default for sessions that do not set it." }),
} satisfies Fields;
export type PortalSettingsInput = InputOf<typeof portalSettingsFields>;

/** Lifetimes from one minute to one day. */
export const portalSessionFields = {
  tenantId: described(
    tenantIdField,
    "Tenant whose endpoints and deliveries are shown. Optional for keys that belong to a tenant.",
  ),
  capabilities: described(
    capabilities,
    "What the session may do. Defaults to the portal settings or, if these set no default, to the read capabilities, `endpoints:write`, `deliveries:retry` and `test:send`. Secrets are included only if named.",
  ),
  expiresInSeconds: integer({ min: 60, max: 86_400, default: 3_600, doc: "How long the session lasts." }),
  reference: nullable(
    line({
      lengthMin: 1,
      lengthMax: 255,
      doc: "Your name for the user. It appears in the audit log and can be used to revoke the user's sessions.",
      examples: ["user-4711"],
    }),
  ),
  webhookIds: nullable(
    list(id(), { countMax: 100, doc: "Only these webhooks; if omitted, all webhooks of the tenant." }),
  ),
  origin: nullable({ ...originField, doc: "The page that shows the portal in a frame." }),
  locale: nullable(
    word({
      lengthMin: 2,
      lengthMax: 35,
      pattern: "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$",
      rule: "a language such as en or de-AT",
      doc: "Defaults to the language of the user's browser.",
      examples: ["de"],
    }),
  ),
  theme: nullable(object(portalThemeFields, { title: "PortalSessionTheme", doc: "Only for this session." })),
} satisfies Fields;

export const portalSessionOptions: OptionTable<typeof portalSessionFields> = {
  tenantId: ["--tenant <id>", "tenant (administrators)"],
  capabilities: [
    "--capability <names>",
    "capabilities, comma-separated (default: read access, endpoints:write, deliveries:retry and test:send)",
  ],
  expiresInSeconds: "--expires-in <seconds>",
  reference: "--reference <text>",
  webhookIds: "--webhook <ids>",
  origin: "--origin <origin>",
  locale: "--locale <language>",
};
export type PortalSessionInput = InputOf<typeof portalSessionFields>;

export const portalRevokeFields = {
  tenantId: tenantIdField,
  reference: required(
    line({ lengthMin: 1, lengthMax: 255, doc: "Reference of the sessions to end.", examples: ["user-4711"] }),
  ),
} satisfies Fields;
export type PortalRevokeInput = InputOf<typeof portalRevokeFields>;

/** The fields shown of a session, without the code and the token. */
const portalSessionShown = {
  id: id({ doc: "Id of the session; not a secret." }),
  tenantId: tenantIdField,
  capabilities: list(choice(portalCapabilities), {
    countMax: portalCapabilities.length,
    doc: "What the session may do.",
  }),
  reference: portalSessionFields.reference,
  webhookIds: portalSessionFields.webhookIds,
  origin: portalSessionFields.origin,
  locale: portalSessionFields.locale,
  createdAt: time({ doc: "When it was created." }),
  expiresAt: time({ doc: "When it ends." }),
  redeemedAt: nullable(time({ doc: "When its code was used; null if it has not been used." })),
  endedAt: nullable(time({ doc: "When it was revoked; null otherwise." })),
} satisfies Fields;

// Portal sessions and settings.

export type { PortalCapability } from "../domain/scope.ts";

export const portalSessionFilters = { tenantId: tenantIdField } satisfies Fields;

export const portalSessionResource = defineResource({
  noun: "portal session",
  title: "PortalSession",
  path: "/v1/portal-sessions",
  tag: "Portal",
  key: idParam("the session"),
  input: portalSessionFields,
  shown: portalSessionShown,
  filters: portalSessionFilters,
  create: {
    title: "PortalSessionInput",
    examples: [{ tenant_id: "acme", reference: "user-4711", origin: "https://app.example.com" }],
  },
});

export const portalSessionCreatedSchema = closed(
  {
    id: Type.String({ format: "uuid", description: "Id of the session; not a secret." }),
    tenant_id: Type.String(),
    url: Type.String("Opens the portal once, within one minute. Pass it to the browser and do not store it."),
    code: Type.String("The one-time code in the URL, for `<posthorn-portal>`."),
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
  {
    code: Type.String({
      minLength: 1,
      maxLength: 128,
      description: "The code from the fragment of the portal URL.",
    }),
  },
  { title: "PortalCode" },
);

export const portalThemeSchema = shownSchemaOf(portalThemeFields, { title: "PortalTheme" });
const logoAddress = textOrNull("URL relative to the address of the server.");

export const portalTokenSchema = closed(
  {
    token: Type.String("`phs_…`: send it as `Authorization: Bearer` and keep it only in memory."),
    session_id: Type.String({ format: "uuid" }),
    expires_at: instant("When the session ends."),
    capabilities: Type.Array(oneOf(portalCapabilities)),
    webhook_ids: nullableSchema(
      Type.Array(Type.String(), { description: "Null for all webhooks of the tenant." }),
    ),
    tenant: closed({ id: Type.String(), name: Type.String() }, { title: "PortalTenant" }),
    locale: nullableSchema(Type.String()),
    theme: portalThemeSchema,
    theme_css: Type.String("URL relative to the address of the server."),
    logo_light: logoAddress,
    logo_dark: logoAddress,
    embedded_by: Type.Array(Type.String(), {
      description: "Origins whose pages may embed the portal in a frame.",
    }),
    public_url: Type.String("Public address of the server."),
  },
  { title: "PortalToken" },
);

export const portalSettingsInputSchema = schemaOf(portalSettingsFields, {
  title: "PortalSettingsInput",
  examples: [{ theme: { accent: "#7a3cff", product_name: "Acme" }, origins: ["https://app.example.com"] }],
});

const accentSchema = closed(
  {
    text: Type.String("The accent colour for text."),
    fill: Type.String("The accent colour for backgrounds, such as buttons."),
    on_fill: Type.String("The text colour on that background."),
  },
  { title: "PortalAccent" },
);

export const portalSettingsSchema = closed(
  {
    tenant_id: textOrNull("Null for the deployment."),
    theme: nullableSchema(portalThemeSchema),
    origins: nullableSchema(Type.Array(Type.String())),
    capabilities: nullableSchema(Type.Array(oneOf(portalCapabilities))),
    logo_light: textOrNull("Media type."),
    logo_dark: textOrNull("Media type."),
    accent_light: nullableSchema(accentSchema),
    accent_dark: nullableSchema(accentSchema),
    updated_at: instantOrNull("Null if nothing was saved."),
  },
  { title: "PortalSettings" },
);

const scheme = oneOf(["light", "dark"], { description: "Colour scheme in which this logo is shown." });
export const logoQuery = closed({ scheme });
export const logoQueryOptional = closed({ scheme: Type.Optional(scheme) });
