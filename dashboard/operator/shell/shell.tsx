import type { ComponentChildren } from "preact";
import { useAddress } from "../../shared/address.ts";
import { nextTheme, theme } from "../../shared/preferences.ts";
import { isLive, isPaused } from "../../shared/queries.ts";
import type { SessionView } from "../../shared/resources.ts";
import { pagePath, root } from "../../shared/root.ts";
import { logout } from "../../shared/session.ts";
import { Icon, IconButton } from "../../shared/ui/icon.tsx";
import { openProblemsMax, useOpenProblems } from "../problems/open-problems.tsx";
import { isKeySheetOpen } from "./key-sheet.tsx";
import { navEntriesOf, navEntryAt, togglePause } from "./navigation.ts";
import { openPalette } from "./palette.tsx";

export function Shell(props: { readonly view: SessionView; readonly children: ComponentChildren }) {
  const { view, children } = props;
  return (
    <div class="shell">
      <a href="#main" class="skip">
        Skip to content
      </a>
      <header class="top">
        <a href={pagePath("")} class="brand">
          <BrandMark />
          Posthorn
        </a>
        <SearchButton />
        <TopButtons />
      </header>
      <Nav view={view} />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function BrandMark() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true" class="brand-mark">
      <path d="M5 11h9a5.5 5.5 0 1 1-5.4 6.6" />
      <path d="M14 11c5 0 8.5-1.2 13-4v16c-3.2-2.2-5.6-3.2-8-3.7" />
    </svg>
  );
}

function SearchButton() {
  const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);
  return (
    <button
      type="button"
      class="search"
      aria-haspopup="dialog"
      aria-keyshortcuts="Control+K Meta+K /"
      onClick={openPalette}
    >
      <Icon name="search" />
      <span>Search or go to…</span>
      <kbd aria-hidden="true">{isMac ? "⌘K" : "Ctrl K"}</kbd>
    </button>
  );
}

function Nav({ view }: { readonly view: SessionView }) {
  const { page } = useAddress();
  const current = navEntryAt(page);
  return (
    <nav aria-label="Pages">
      <ul>
        {navEntriesOf(view).map((entry) => (
          <li key={entry.page}>
            <a href={pagePath(entry.page)} aria-current={current === entry ? "page" : undefined}>
              <Icon name={entry.icon} />
              {entry.title}
              {entry.page === "problems" && <ProblemCount />}
            </a>
          </li>
        ))}
        <li>
          <a href={new URL("docs", root).href} target="_blank" rel="noreferrer">
            <Icon name="docs" />
            API reference
          </a>
        </li>
      </ul>
      <p class="soft whoami">
        {view.role}
        {view.tenant_id !== null && ` of ${view.tenant_id}`}
        <br />
        Posthorn {view.version}
        {view.dev && ", development"}
      </p>
    </nav>
  );
}

function ProblemCount() {
  const count = useOpenProblems().data?.data.length ?? 0;
  if (count === 0) return null;
  return (
    <span class="nav-count">
      {count >= openProblemsMax ? `${openProblemsMax}+` : count}
      <span class="off-screen"> open</span>
    </span>
  );
}

function refreshState(): { readonly word: string; readonly means: string } {
  if (isPaused.value) return { word: "Paused", means: "Refreshing is paused" };
  if (isLive.value) return { word: "Live", means: "Updates arrive over a live stream" };
  return { word: "Polling", means: "No live stream is available, so the page refreshes every 5 seconds" };
}

function TopButtons() {
  const state = refreshState();
  return (
    <div class="top-buttons">
      <button
        type="button"
        class="quiet live"
        title={state.means}
        aria-pressed={isPaused.value}
        onClick={togglePause}
      >
        <Icon name={isPaused.value ? "play" : "pause"} />
        <span class="live-word">{state.word}</span>
        <span class="off-screen">: pause refreshing</span>
      </button>
      <IconButton icon="theme" label={`Theme: ${theme.value}`} onClick={nextTheme} />
      <IconButton
        icon="keys"
        label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={() => (isKeySheetOpen.value = true)}
      />
      <IconButton icon="leave" label="Log out" onClick={() => void logout()} />
    </div>
  );
}
