import { InvalidRequestError } from "../../domain/errors.ts";
import type { ApiOptions } from "../../http/context.ts";
import { formatInstant, inputOf, jsonOf } from "../../http/mapping.ts";
import { type Call, defineRawForm, defineRoute, type Route } from "../../http/route.ts";
import {
  logoQuery,
  logoQueryOptional,
  portalSettingsFields,
  portalSettingsInputSchema,
  portalSettingsSchema,
  type PortalTheme,
  portalThemeSchema,
} from "../../resources/portal.ts";
import { closed, tenantIdSchema } from "../../resources/schema.ts";
import type { PortalLookService } from "../services.ts";
import { repairedAccent, type Scheme } from "./contrast.ts";
import { logoBytesMax } from "./look.ts";

/** The portal settings of the deployment, and those of a tenant, which override them. */
const levels = [
  {
    path: "/v1/portal-settings",
    of: "Portal",
    whose: "the deployment",
    access: { read: "admin", write: "admin" },
    params: closed({}),
  },
  {
    path: "/v1/tenants/{id}/portal-settings",
    of: "TenantPortal",
    whose: "a tenant",
    access: { read: "read", write: "manage" },
    params: closed({ id: tenantIdSchema }),
  },
] as const;
type LevelOfRoutes = (typeof levels)[number];

type Params = { readonly id?: string };

const tenantOf = (params: unknown): string | null => (params as Params).id ?? null;

export function portalSettingsRoutes(options: ApiOptions): readonly Route[] {
  return levels.flatMap((level) => [settingsRoutes(options, level), logoRoutes(options, level)]).flat();
}

/** Each change of a level is audited together with the previous settings. */
function changing(looks: PortalLookService, { access, params }: LevelOfRoutes, verb: string) {
  return {
    tag: "Portal",
    access: access.write,
    params,
    audit: {
      action: `portal_settings.${verb}`,
      target: "portal_settings",
      before: (call: Call<Params>) => settingsBefore(looks, call),
    },
  } as const;
}

function settingsRoutes({ services }: ApiOptions, level: LevelOfRoutes): readonly Route[] {
  const { path, of, whose, access, params } = level;
  const { portalLooks: looks } = services;
  return [
    defineRoute({
      method: "GET",
      path,
      operationId: `get${of}Settings`,
      tag: "Portal",
      summary: `Get the portal theme of ${whose}`,
      access: access.read,
      params,
      answers: { 200: { description: "The saved settings.", schema: portalSettingsSchema } },
      errors: ["not_found"],
      handle: async (call) => ({
        status: 200,
        body: settingsJson(await looks.get(call.scope, tenantOf(call.params))),
      }),
    }),
    defineRoute({
      ...changing(looks, level, "put"),
      method: "PUT",
      path,
      operationId: `put${of}Settings`,
      summary: `Change the portal theme of ${whose}`,
      description:
        "Omitted fields keep their values; null restores the value of the level above. `accent_light` and `accent_dark` in the " +
        "response are the accent colour adjusted for contrast.",
      body: portalSettingsInputSchema,
      answers: { 200: { description: "Saved.", schema: portalSettingsSchema } },
      errors: ["not_found"],
      handle: async (call) => {
        const input = inputOf(portalSettingsFields, call.body);
        return { status: 200, body: settingsJson(await looks.put(call.scope, tenantOf(call.params), input)) };
      },
    }),
  ];
}

function logoRoutes({ services }: ApiOptions, level: LevelOfRoutes): readonly Route[] {
  const { path, of, whose } = level;
  const { portalLooks: looks } = services;
  return [
    defineRoute({
      ...changing(looks, level, "put_logo"),
      method: "PUT",
      path: `${path}/logo`,
      operationId: `put${of}Logo`,
      summary: `Set a portal logo of ${whose}`,
      description: `The body is a PNG or WebP image of up to ${logoBytesMax} bytes.`,
      raw: defineRawForm({
        parameter: "scheme",
        query: logoQuery,
        bodyBytesMax: logoBytesMax,
        description: "The image.",
        handle: async ({ scope, params, query, body }) => {
          await looks.putLogo(scope, { tenantId: tenantOf(params), scheme: query.scheme }, body.body);
          return { status: 204 };
        },
      }),
      answers: { 204: { description: "Saved." } },
      errors: ["not_found", "payload_too_large"],
      handle: async () => {
        throw new InvalidRequestError("The query of the URL is not valid.", [
          { field: "scheme", message: "is required: light or dark" },
        ]);
      },
    }),
    defineRoute({
      ...changing(looks, level, "remove_logo"),
      method: "DELETE",
      path: `${path}/logo`,
      operationId: `remove${of}Logo`,
      summary: `Remove portal logos of ${whose}`,
      query: logoQueryOptional,
      answers: { 204: { description: "Gone." } },
      errors: ["not_found"],
      handle: async ({ scope, params, query: { scheme } }) => {
        for (const each of scheme === undefined ? (["light", "dark"] as const) : [scheme])
          await looks.removeLogo(scope, { tenantId: tenantOf(params), scheme: each });
        return { status: 204 };
      },
    }),
  ];
}

/** The settings before a change, for the audit log. Includes the tenant id, which the path may not contain. */
async function settingsBefore(looks: PortalLookService, { scope, params }: Call<Params>): Promise<object> {
  const tenant = tenantOf(params);
  return { tenant_id: tenant, ...settingsJson(await looks.get(scope, tenant)) };
}

function settingsJson({
  settings,
  logos,
}: Awaited<ReturnType<PortalLookService["get"]>>): Record<string, unknown> {
  const { tenantId: tenant, theme, origins, capabilities, updatedAt } = settings;
  return {
    tenant_id: tenant,
    theme: theme && jsonOf(portalThemeSchema, theme as Required<PortalTheme>),
    origins,
    capabilities,
    logo_light: logos.light?.mediaType ?? null,
    logo_dark: logos.dark?.mediaType ?? null,
    accent_light: accentJson(theme?.accent, "light"),
    accent_dark: accentJson(theme?.accent, "dark"),
    updated_at: updatedAt === 0 ? null : formatInstant(updatedAt),
  };
}

function accentJson(accent: string | null | undefined, scheme: Scheme): Record<string, unknown> | null {
  if (accent === null || accent === undefined) return null;
  const { text, fill, onFill } = repairedAccent(accent, scheme);
  return { text, fill, on_fill: onFill };
}
