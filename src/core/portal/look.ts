import type { PortalTheme } from "../fields/portal.ts";

/** How the portal looks where nobody said anything. */
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

/** With a value for everything that has one. */
export type WholeTheme = {
  readonly [Name in keyof PortalTheme]-?: Exclude<PortalTheme[Name], undefined>;
};

/** What the innermost level says counts; null and what is left out is as the level around it says. */
export function mergedTheme(levels: readonly (PortalTheme | null | undefined)[]): WholeTheme {
  const merged: Record<string, unknown> = { ...portalThemeDefault };
  for (const level of levels) {
    for (const [name, value] of Object.entries(level ?? {})) {
      if (value !== null && value !== undefined) merged[name] = value;
    }
  }
  return merged as unknown as WholeTheme;
}
