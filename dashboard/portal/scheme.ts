/** Light or dark: the choice on this visit, else the theme, the host or the system. The choice is not stored. */
import { computed, effect, signal } from "@preact/signals";
import { hostScheme } from "./host.ts";
import { session } from "./session.ts";

export const schemes = ["auto", "light", "dark"] as const;
export type Scheme = (typeof schemes)[number];

export const chosenScheme = signal<Scheme>("auto");

/** A theme with a fixed scheme allows no choice. */
export const mayChooseScheme = computed(() => isFree(session.value?.theme.scheme));

function isFree(scheme: string | undefined): boolean {
  return scheme === "auto" || scheme === "host";
}

effect(() => {
  const themed = session.value?.theme.scheme;
  const given = themed === "host" ? hostScheme.value : (themed ?? null);
  const scheme = isFree(themed) && chosenScheme.value !== "auto" ? chosenScheme.value : given;
  if (scheme === "light" || scheme === "dark") document.documentElement.dataset["theme"] = scheme;
  else delete document.documentElement.dataset["theme"];
});
