/** Display preferences stored in the browser. Keys, ids and data are never stored. */
import { effect, signal } from "@preact/signals";

type Preference = "theme" | "keys" | "density";

/** Null if not stored or if the browser blocks storage. */
export function remembered(name: Preference): string | null {
  try {
    return localStorage.getItem(`posthorn-${name}`);
  } catch {
    return null;
  }
}

export function remember(name: Preference, value: string): void {
  try {
    localStorage.setItem(`posthorn-${name}`, value);
  } catch {
    // If storage is blocked, the preference applies until the page is closed.
  }
}

/** Light or dark colour scheme. By default, the scheme of the system. */
const themes = ["auto", "light", "dark"] as const;
type Theme = (typeof themes)[number];

export const theme = signal<Theme>(themes.find((name) => name === remembered("theme")) ?? "auto");

effect(() => {
  if (theme.value === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
});

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "auto";
  remember("theme", theme.value);
}

/** Row density of tables. */
export const isCompact = signal(remembered("density") === "compact");

effect(() => {
  if (isCompact.value) document.documentElement.dataset["density"] = "compact";
  else delete document.documentElement.dataset["density"];
});

export function toggleDensity(): void {
  isCompact.value = !isCompact.value;
  remember("density", isCompact.value ? "compact" : "comfortable");
}
