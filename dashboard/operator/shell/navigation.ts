import { isPaused } from "../../shared/queries.ts";
import type { SessionView } from "../../shared/resources.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import type { IconName } from "../../shared/ui/icon.tsx";

interface NavEntry {
  readonly page: string;
  readonly title: string;
  readonly icon: IconName;
  /** Shortcut key after `g`. */
  readonly key: string;
  /** Roles that see the page. All roles if omitted. */
  readonly roles?: readonly SessionView["role"][];
  /** Other pages that belong to this entry, by their first path segment. */
  readonly also?: readonly string[];
}

export const navEntries: readonly NavEntry[] = [
  { page: "", title: "Overview", icon: "overview", key: "o" },
  { page: "deliveries", title: "Deliveries", icon: "deliveries", key: "d" },
  { page: "events", title: "Events", icon: "events", key: "e" },
  { page: "webhooks", title: "Webhooks", icon: "webhooks", key: "w" },
  { page: "sources", title: "Gateway", icon: "gateway", key: "g", also: ["connections", "requests"] },
  { page: "problems", title: "Problems", icon: "problems", key: "p" },
  { page: "alerts", title: "Alerts", icon: "alerts", key: "m", roles: ["admin", "manage"] },
  { page: "dead-letters", title: "Dead letters", icon: "dead", key: "l" },
  { page: "operations", title: "Operations", icon: "operations", key: "b" },
  { page: "event-types", title: "Event types", icon: "types", key: "y" },
  { page: "tenants", title: "Tenants", icon: "tenants", key: "t", roles: ["admin"] },
  { page: "portal", title: "Portal", icon: "portal", key: "c", roles: ["admin", "manage"] },
  { page: "system", title: "System", icon: "system", key: "s", roles: ["admin"] },
  { page: "audit", title: "Audit log", icon: "audit", key: "a", roles: ["admin", "manage"] },
];

/** Returns the navigation entry that a page belongs to. */
export function navEntryAt(page: string): NavEntry | undefined {
  const [first = ""] = page.split("/");
  return navEntries.find((entry) => entry.page === first || entry.also?.includes(first) === true);
}

/** Entries visible to the role of the session. */
export function navEntriesOf(view: SessionView | null | undefined): readonly NavEntry[] {
  return navEntries.filter((entry) => isFor(view, entry));
}

interface Place extends Pick<NavEntry, "page" | "title" | "roles"> {
  readonly key?: string;
}

/** Subpages that the palette offers in addition to the navigation. */
const places: readonly Place[] = [
  { page: "sources/new", title: "Add a source", roles: ["admin", "manage"] },
  { page: "connections", title: "Gateway connections" },
  { page: "requests", title: "Gateway requests" },
];

export function placesOf(view: SessionView | null | undefined): readonly Place[] {
  return places.filter((place) => isFor(view, place));
}

function isFor(view: SessionView | null | undefined, { roles }: Pick<NavEntry, "roles">): boolean {
  const role = view?.role;
  return roles === undefined || (role !== undefined && roles.includes(role));
}

export function togglePause(): void {
  isPaused.value = !isPaused.value;
  announce(isPaused.value ? "Paused" : "Live");
}
