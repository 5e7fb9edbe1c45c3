import type { PortalTheme } from "../../resources/portal.ts";
import { repairedAccent } from "./contrast.ts";

/** Detects the image type from the content. SVG is not accepted, because it may contain scripts and URLs. */
export const logoBytesMax = 65_536;

const pngStart = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** An image with few bytes can still have huge dimensions. */
const sideMax = 4_096;

type LogoType = "image/png" | "image/webp";

/** Null for anything other than a PNG or WebP image of acceptable size. */
export function logoTypeOf(bytes: Uint8Array): LogoType | null {
  if (bytes.byteLength > logoBytesMax) return null;
  if (isPng(bytes)) return "image/png";
  return isWebp(bytes) ? "image/webp" : null;
}

function isPng(bytes: Uint8Array): boolean {
  if (bytes.byteLength < 33 || !pngStart.every((byte, at) => bytes[at] === byte)) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return textAt(bytes, 12) === "IHDR" && isBearable(view.getUint32(16)) && isBearable(view.getUint32(20));
}

function isWebp(bytes: Uint8Array): boolean {
  if (bytes.byteLength < 30 || textAt(bytes, 0) !== "RIFF" || textAt(bytes, 8) !== "WEBP") return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(4, true) + 8 > bytes.byteLength + 1) return false;
  switch (textAt(bytes, 12)) {
    case "VP8X":
      return isBearable(1 + threeBytes(view, 24)) && isBearable(1 + threeBytes(view, 27));
    case "VP8L": {
      const bits = view.getUint32(21, true);
      return isBearable(1 + (bits & 0x3fff)) && isBearable(1 + ((bits >>> 14) & 0x3fff));
    }
    case "VP8 ":
      return isBearable(view.getUint16(26, true) & 0x3fff) && isBearable(view.getUint16(28, true) & 0x3fff);
    default:
      return false;
  }
}

function threeBytes(view: DataView, at: number): number {
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
}

function isBearable(side: number): boolean {
  return side >= 1 && side <= sideMax;
}

function textAt(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}

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

/** A theme that contains every property; none of them is undefined. */
export type WholeTheme = {
  readonly [Name in keyof PortalTheme]-?: Exclude<PortalTheme[Name], undefined>;
};

/**
 * Merges the themes of several levels. The most specific level takes precedence; null and omitted values are inherited
 * from the next level.
 */
export function mergedTheme(levels: readonly (PortalTheme | null | undefined)[]): WholeTheme {
  const merged: Record<string, unknown> = { ...portalThemeDefault };
  for (const level of levels) {
    for (const [name, value] of Object.entries(level ?? {})) {
      if (value !== null && value !== undefined) merged[name] = value;
    }
  }
  return merged as unknown as WholeTheme;
}

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
