/** Collects the palette's entries: pages, actions of the page, commands, and search results of the server. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { nextTheme, toggleDensity } from "../../shared/preferences.ts";
import { useApi } from "../../shared/queries.ts";
import type { SearchHit, SearchHits } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { logout, session } from "../../shared/session.ts";
import { isFollowing } from "../lists/new-rows.tsx";
import { isKeySheetOpen } from "./key-sheet.tsx";
import { navEntriesOf, placesOf, togglePause } from "./navigation.ts";
import { entriesMatching, type PaletteEntry } from "./palette-search.ts";

/** Pause in typing before the server is queried. */
const typingPauseMs = 150;
const searchedLengthMin = 2;

const commands: readonly PaletteEntry[] = [
  { title: "Pause or resume refreshing", hint: ".", run: togglePause },
  { title: "Follow new rows", hint: "f", run: toggleFollowing },
  { title: "Change theme", hint: "t", run: nextTheme },
  { title: "Toggle compact tables", hint: "", run: toggleDensity },
  { title: "Show keyboard shortcuts", hint: "?", run: () => (isKeySheetOpen.value = true) },
  { title: "Log out", hint: "", run: () => void logout() },
].map(({ title, hint, run }) => ({ title, hint, run, id: title, group: "Commands" }));

function toggleFollowing(): void {
  isFollowing.value = !isFollowing.value;
}

interface FoundEntries {
  readonly entries: readonly PaletteEntry[];
  readonly isSearching: boolean;
}

/** Entries that match `text`. The actions of the page are collected once for each `opening`. */
export function usePaletteEntries(text: string, opening: number): FoundEntries {
  const { go } = useAddress();
  const asked = useSettledText(text.trim());
  const isAsked = asked.length >= searchedLengthMin;
  const query = { q: asked };
  const found = useApi<SearchHits>(isAsked ? { path: "v1/search", query } : null, { everyMs: false });
  const isFresh = asked === text.trim() && !found.isOld;
  const hits = isAsked && isFresh ? (found.data?.data ?? []) : [];
  const actions = useMemo(actionsOfPage, [opening]);
  const pages = [...navEntriesOf(session.value), ...placesOf(session.value)].map(
    ({ page, title, key }): PaletteEntry => ({
      id: `page ${page}`,
      group: "Pages",
      title,
      hint: key === undefined ? "" : `g ${key}`,
      run: () => go(pagePath(page)),
    }),
  );
  return {
    entries: [
      ...hits.map((hit) => entryOfHit(hit, go)),
      ...entriesMatching([...actions, ...pages, ...commands], text),
    ],
    isSearching: text.trim().length >= searchedLengthMin && (!isFresh || found.isLoading),
  };
}

function entryOfHit(hit: SearchHit, go: (path: string) => void): PaletteEntry {
  const by = hit.matched === "id" ? "" : `, by ${hit.matched.replace("_", " ")}`;
  return {
    id: `${hit.type} ${hit.id}`,
    group: "Found",
    title: hit.title,
    hint: `${hit.type}${by}`,
    run: () => go(pagePath(`${folders[hit.type]}/${hit.id}`)),
  };
}

const folders: Readonly<Record<SearchHit["type"], string>> = {
  webhook: "webhooks",
  event: "events",
  delivery: "deliveries",
  operation: "operations",
  source: "sources",
  connection: "connections",
};

/** Entries for the buttons that are on the page when the palette opens. */
function actionsOfPage(): readonly PaletteEntry[] {
  const buttons = [...document.querySelectorAll<HTMLElement>("main [data-command]")];
  return buttons.map((button, index) => ({
    id: `action ${index}`,
    group: "On this page",
    title: button.dataset["command"] ?? "",
    hint: button.dataset["key"] ?? "",
    run: () => button.click(),
  }));
}

function useSettledText(text: string): string {
  const [settled, settle] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => settle(text), typingPauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
