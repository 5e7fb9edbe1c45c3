/**
 * Keeps an accent colour readable. Its lightness in OKLCH is changed no more than necessary. Its hue is kept, and its
 * chroma as far as sRGB can show it.
 */

export type Scheme = "light" | "dark";

/**
 * Backgrounds on which the accent appears: the lightest and the darkest of ground, panel and sunken ground in
 * tokens.css.
 */
export const grounds: Readonly<Record<Scheme, readonly string[]>> = {
  light: ["#ffffff", "#f6f5f1", "#f3f2ec"],
  dark: ["#12161b", "#1a2027", "#141a20"],
};

/** WCAG 2.2, criterion 1.4.3. */
export const contrastMin = 4.5;

/**
 * `text` is the accent colour for text on the ground; `fill` is the background for text in `onFill`, as on a button.
 */
export interface Accent {
  readonly text: string;
  readonly fill: string;
  readonly onFill: "#ffffff" | "#000000";
}

export function repairedAccent(colour: string, scheme: Scheme): Accent {
  const text = moved(
    colour,
    (candidate) => grounds[scheme].every((ground) => contrast([candidate, ground]) >= contrastMin),
    scheme === "light" ? 0 : 1,
  );
  // White text on the accent, if that requires no larger change than black text.
  const towardsWhite = moved(colour, onto("#ffffff"), 0);
  const towardsBlack = moved(colour, onto("#000000"), 1);
  const isWhite = distance([colour, towardsWhite]) <= distance([colour, towardsBlack]);
  return isWhite
    ? { text, fill: towardsWhite, onFill: "#ffffff" }
    : { text, fill: towardsBlack, onFill: "#000000" };
}

function onto(other: string): (candidate: string) => boolean {
  return (candidate) => contrast([candidate, other]) >= contrastMin;
}

/** Contrast ratio by relative luminance, WCAG 2.2. */
export function contrast(pair: readonly [one: string, other: string]): number {
  const [low = 0, high = 0] = pair.map(luminance).toSorted((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = linear(colour);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

type Triple = readonly [number, number, number];

/** The nearest sufficient lightness; the ends of the scale are black and white, which suffice. */
function moved(colour: string, isEnough: (candidate: string) => boolean, towards: 0 | 1): string {
  const plain = colour.toLowerCase();
  if (isEnough(plain)) return plain;
  const [lightness, chroma, hue] = toOklch(plain);
  const steps = 200;
  for (let step = 1; step <= steps; step += 1) {
    const candidate = fromOklch([lightness + ((towards - lightness) * step) / steps, chroma, hue]);
    if (isEnough(candidate)) return candidate;
  }
  return towards === 0 ? "#000000" : "#ffffff";
}

function distance([one, other]: readonly [string, string]): number {
  return Math.abs(toOklch(one)[0] - toOklch(other)[0]);
}

function linear(colour: string): Triple {
  const parts = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255);
  const [red = 0, green = 0, blue = 0] = parts.map((part) =>
    part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
  return [red, green, blue];
}

/** Björn Ottosson's OKLab, in polar form. */
function toOklch(colour: string): Triple {
  const [red, green, blue] = linear(colour);
  const long = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const medium = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const short = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  const lightness = 0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short;
  const a = 1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short;
  const b = 0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short;
  return [lightness, Math.hypot(a, b), Math.atan2(b, a)];
}

/** Reduces the chroma if sRGB cannot show the colour. */
function fromOklch([lightness, chroma, hue]: Triple): string {
  for (let part = 1; part > 0; part -= 0.05) {
    const shown = toLinear([lightness, chroma * part, hue]);
    if (shown.every((value) => value >= -0.0005 && value <= 1.0005)) return hexadecimal(shown);
  }
  return hexadecimal(toLinear([lightness, 0, hue]));
}

function toLinear([lightness, chroma, hue]: Triple): Triple {
  const a = chroma * Math.cos(hue);
  const b = chroma * Math.sin(hue);
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
  ];
}

function hexadecimal(parts: Triple): string {
  const texts = parts.map((part) => {
    const bounded = Math.min(1, Math.max(0, part));
    const encoded = bounded <= 0.0031308 ? bounded * 12.92 : 1.055 * bounded ** (1 / 2.4) - 0.055;
    return Math.round(encoded * 255)
      .toString(16)
      .padStart(2, "0");
  });
  return `#${texts.join("")}`;
}
