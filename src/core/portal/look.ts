import type { PortalTheme } from "../fields/portal.ts";

/** The default appearance of the portal. */
const portalThemeDefault = {
  accent: "#1b5e83",
  radius: 10,
  density: "comfortable",
  font: "system",
  scheme: "auto",
  productName: null,
  words: "endpoint",
  hide: [],
  docsUrl: null,
  supportUrl: null,
  returnUrl: null,
} as const satisfies Record<keyof PortalTheme, unknown>;

/** With a value for every property that has one. */
export type WholeTheme = {
  readonly [Name in keyof PortalTheme]-?: Exclude<PortalTheme[Name], undefined>;
};

/** The innermost level wins; null and omitted values are inherited from the level around it. */
export function mergedTheme(levels: readonly (PortalTheme | null | undefined)[]): WholeTheme {
  const merged: Record<string, unknown> = { ...portalThemeDefault };
  for (const level of levels) {
    for (const [name, value] of Object.entries(level ?? {})) {
      if (value !== null && value !== undefined) merged[name] = value;
    }
  }
  return merged as unknown as WholeTheme;
}
