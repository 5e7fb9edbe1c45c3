/** Light or dark. Follows the system by default. */
import { effect, signal } from "@preact/signals";
import { remembered, remember } from "./preferences.ts";

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
