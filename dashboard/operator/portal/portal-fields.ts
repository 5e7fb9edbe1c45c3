/** Form fields of the portal settings. */
import type { PortalSettings } from "../../shared/resources.ts";
import { type FormField, seldom, type Typed, typedOf } from "../form/form-fields.ts";

const asAbove = ["", "inherit"] as const;

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
    hint: "A colour such as #7a3cff. Its lightness is adjusted for readability. The preview above shows the result.",
    whenEmpty: null,
  },
  {
    name: "theme.product_name",
    label: "Product name",
    kind: "line",
    hint: "Shown in the header. Leave empty to use the tenant's name.",
    whenEmpty: null,
  },
  choiceOf("theme.words", { label: "Name for endpoints", values: ["endpoint", "webhook", "destination"] }),
  choiceOf("theme.scheme", { label: "Scheme", values: ["auto", "light", "dark", "host"] }),
  choiceOf("theme.density", { label: "Density", values: ["comfortable", "compact"] }),
  { name: "theme.radius", label: "Corner radius, px", kind: "number", whenEmpty: null },
  {
    name: "theme.font",
    label: "Font",
    kind: "line",
    hint: "system, serif, mono, or a font installed on the customer's device. Fonts are never downloaded.",
    whenEmpty: null,
  },
  {
    name: "origins",
    label: "Allowed frame origins",
    kind: "list",
    hint: "For example https://app.example.com. The origin of a session is always allowed.",
    whenEmpty: null,
  },
  {
    name: "capabilities",
    label: "Default capabilities",
    kind: "list",
    hint: "For sessions created without capabilities. For example endpoints:read, deliveries:read, test:send.",
    whenEmpty: null,
  },
  ...seldom([
    {
      name: "theme.hide",
      label: "Hidden pages",
      kind: "list",
      hint: "activity, event_types, notifications, help.",
      whenEmpty: null,
    },
    {
      name: "theme.docs_url",
      label: "Link to your documentation",
      kind: "line",
      whenEmpty: null,
    },
    {
      name: "theme.support_url",
      label: "Link to your support",
      kind: "line",
      whenEmpty: null,
    },
    {
      name: "theme.return_url",
      label: "Return URL after the session ends",
      kind: "line",
      whenEmpty: null,
    },
  ]),
];

export function typedSettings(settings: PortalSettings): Typed {
  return typedOf(portalFields, settings);
}

/** The API replaces the theme as a whole, so unchanged fields are sent too. */
export function settingsInput(
  settings: PortalSettings,
  changed: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const theme = changed["theme"] as Readonly<Record<string, unknown>> | undefined;
  if (theme === undefined) return changed;
  const saved = settings.theme as Readonly<Record<string, unknown>> | null;
  return { ...changed, theme: { ...saved, ...theme } };
}
