/** The fields of the form for how the portal looks. */
import { typedOf, type FormField, type Typed } from "../form/form-fields.ts";

/** What `GET /v1/portal-settings` answers, of the deployment or of a tenant. */
export interface PortalSettings {
  readonly tenant_id: string | null;
  readonly theme: Readonly<Record<string, unknown>> | null;
  readonly origins: readonly string[] | null;
  readonly capabilities: readonly string[] | null;
  readonly logo_light: string | null;
  readonly logo_dark: string | null;
}

const asAbove = ["", "as the level above says"] as const;

function choiceOf(
  name: string,
  { label, values }: { readonly label: string; readonly values: readonly string[] },
) {
  const choices = [asAbove, ...values.map((value) => [value, value] as const)];
  return { name, label, kind: "choice", choices, whenEmpty: null } as const;
}

export const portalFields: readonly FormField[] = [
  {
    name: "theme.accent",
    label: "Accent",
    kind: "line",
    hint: "A colour such as #7a3cff. Its lightness is moved until it can be read; above is what becomes of it.",
    whenEmpty: null,
  },
  {
    name: "theme.product_name",
    label: "Product name",
    kind: "line",
    hint: "Stands at the top; the tenant's name when left empty.",
    whenEmpty: null,
  },
  choiceOf("theme.words", { label: "An endpoint is called", values: ["endpoint", "webhook", "destination"] }),
  choiceOf("theme.scheme", { label: "Scheme", values: ["auto", "light", "dark", "host"] }),
  choiceOf("theme.density", { label: "Density", values: ["comfortable", "compact"] }),
  { name: "theme.radius", label: "Radius of corners, px", kind: "number", whenEmpty: null },
  {
    name: "theme.font",
    label: "Font",
    kind: "line",
    hint: "system, serif, mono, or a font that readers have; never fetched.",
    whenEmpty: null,
  },
  {
    name: "origins",
    label: "Pages that may show it in a frame",
    kind: "list",
    hint: "Origins such as https://app.example.com, beside that of a session.",
    whenEmpty: null,
  },
  {
    name: "capabilities",
    label: "What sessions may do that name nothing",
    kind: "list",
    hint: "Such as endpoints:read, deliveries:read, test:send.",
    whenEmpty: null,
  },
  {
    name: "theme.hide",
    label: "Pages that are not shown",
    kind: "list",
    hint: "activity, event_types, notifications, help.",
    whenEmpty: null,
    isSeldom: true,
  },
  {
    name: "theme.docs_url",
    label: "Link to your documentation",
    kind: "line",
    whenEmpty: null,
    isSeldom: true,
  },
  {
    name: "theme.support_url",
    label: "Link to your support",
    kind: "line",
    whenEmpty: null,
    isSeldom: true,
  },
  {
    name: "theme.return_url",
    label: "Where somebody goes whose session ended",
    kind: "line",
    whenEmpty: null,
    isSeldom: true,
  },
];

export function typedSettings(settings: PortalSettings): Typed {
  return typedOf(portalFields, settings);
}

/** The theme is replaced as a whole, so what was not touched goes along. */
export function settingsInput(
  settings: PortalSettings,
  changed: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const theme = changed["theme"] as Readonly<Record<string, unknown>> | undefined;
  if (theme === undefined) return changed;
  return { ...changed, theme: { ...settings.theme, ...theme } };
}
