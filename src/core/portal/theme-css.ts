import { repairedAccent } from "./contrast.ts";
import type { WholeTheme } from "./look.ts";

const fonts: Readonly<Record<string, string>> = {
  system: 'system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif',
  serif: 'ui-serif, Georgia, "Noto Serif", serif',
  mono: 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace',
};

/** Custom properties that override those of tokens.css. Every value has been validated: none can end a declaration. */
export function themeCss({ accent, radius, density, font }: WholeTheme): string {
  const light = repairedAccent(accent ?? "", "light");
  const dark = repairedAccent(accent ?? "", "dark");
  const family = fonts[font ?? "system"] ?? `"${font}", ${fonts["system"]}`;
  const properties = {
    "--accent": `light-dark(${light.text}, ${dark.text})`,
    "--accent-ground": `light-dark(${light.fill}, ${dark.fill})`,
    "--accent-text": `light-dark(${light.onFill}, ${dark.onFill})`,
    "--new": `light-dark(${light.text}, ${dark.text})`,
    "--radius": `${radius ?? 0}px`,
    "--gap": density === "compact" ? "0.65rem" : "1rem",
    "--font": family,
  };
  const lines = Object.entries(properties).map(([name, value]) => `  ${name}: ${value};`);
  return `:root {\n${lines.join("\n")}\n}\n`;
}
