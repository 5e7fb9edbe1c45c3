/** Row density of tables. */
import { effect, signal } from "@preact/signals";
import { remember, remembered } from "./preferences.ts";

export const isCompact = signal(remembered("density") === "compact");

effect(() => {
  if (isCompact.value) document.documentElement.dataset["density"] = "compact";
  else delete document.documentElement.dataset["density"];
});

export function toggleDensity(): void {
  isCompact.value = !isCompact.value;
  remember("density", isCompact.value ? "compact" : "comfortable");
}
