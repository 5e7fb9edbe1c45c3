import { computed, effect, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { useEffect, useRef } from "preact/hooks";
import { isSessionOver } from "../../shared/api.ts";
import { root } from "../../shared/root.ts";
import { announce } from "../../shared/ui/announcer.tsx";
import { hostScheme, isFramed } from "./host.ts";
import { languages, speak, spoken, t } from "./language.ts";
import { portalPath, routePath } from "./paths.ts";
import {
  askForCode,
  isEnding,
  isHidden,
  leave,
  leftMs,
  may,
  maySetChannels,
  noun,
  type PortalSession,
  session,
} from "./session.ts";

/**
 * Light or dark. The user's choice on this visit comes first, then the theme, the host, and the system. The choice is
 * not stored.
 */
const schemes = ["auto", "light", "dark"] as const;
type Scheme = (typeof schemes)[number];

const chosenScheme = signal<Scheme>("auto");

/** A theme with a fixed scheme allows no choice. */
const mayChooseScheme = computed(() => isFree(session.value?.theme.scheme));

function isFree(scheme: string | null | undefined): boolean {
  return scheme === "auto" || scheme === "host";
}

effect(() => {
  const themed = session.value?.theme.scheme;
  const given = themed === "host" ? hostScheme.value : (themed ?? null);
  const scheme = isFree(themed) && chosenScheme.value !== "auto" ? chosenScheme.value : given;
  if (scheme === "light" || scheme === "dark") document.documentElement.dataset["theme"] = scheme;
  else delete document.documentElement.dataset["theme"];
});

export function Shell(props: { readonly view: PortalSession; readonly children: ComponentChildren }) {
  const { view, children } = props;
  const { path } = useLocation();
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    // After navigation, move the focus to the new page, as on a document load.
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [path]);
  return (
    <div class="portal">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        {t("skip")}
      </a>
      <header class="portal-head">
        <Name view={view} />
        <nav aria-label={t("nav.label")}>
          <ul class="portal-nav">
            {pages().map((one) => (
              <li key={one.page}>
                <a href={portalPath(one.page)} aria-current={isAt(path, one) ? "page" : undefined}>
                  {one.title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </header>
      <SessionNote view={view} />
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
      <Foot view={view} />
    </div>
  );
}

function Foot({ view }: { readonly view: PortalSession }) {
  const { docs_url: docs, support_url: support } = view.theme;
  return (
    <footer class="portal-foot soft">
      <select
        aria-label={t("language")}
        value={spoken()}
        onChange={({ currentTarget }) => void speak([currentTarget.value])}
      >
        {languages.map(([tag, name]) => (
          <option key={tag} value={tag} lang={tag}>
            {name}
          </option>
        ))}
      </select>
      {mayChooseScheme.value && (
        <select
          aria-label={t("scheme")}
          value={chosenScheme.value}
          onChange={({ currentTarget }) =>
            (chosenScheme.value = schemes.find((name) => name === currentTarget.value) ?? "auto")
          }
        >
          {schemes.map((name) => (
            <option key={name} value={name}>
              {t(`scheme.${name}`)}
            </option>
          ))}
        </select>
      )}
      {docs !== null && <Outside href={docs}>{t("link.docs")}</Outside>}
      {support !== null && <Outside href={support}>{t("link.support")}</Outside>}
      {!isFramed && (
        <button type="button" class="quiet" onClick={() => void leave()}>
          {t("session.leave")}
        </button>
      )}
    </footer>
  );
}

function Name({ view }: { readonly view: PortalSession }) {
  const { logo_light: light, logo_dark: dark, theme } = view;
  const name = theme.product_name ?? view.tenant.name;
  return (
    <p class="portal-name">
      {light !== null && <img class="logo-light" src={new URL(light, root).href} alt="" />}
      {dark !== null && <img class="logo-dark" src={new URL(dark, root).href} alt="" />}
      <span>{name}</span>
    </p>
  );
}

/** A link to a page of the host. */
function Outside(props: {
  readonly href: string;
  readonly target?: "_blank" | "_top";
  readonly children: string;
}) {
  const { href, target = "_blank", children } = props;
  return (
    <a href={href} target={target} rel="noreferrer">
      {children}
    </a>
  );
}

/** Pages in the navigation, each with the first path segments that belong to it. */
function pages() {
  const all = [
    { page: "", below: ["endpoints", "add"], title: noun("title.many"), isShown: may("endpoints:read") },
    {
      page: "activity",
      below: ["messages"],
      title: t("activity.title"),
      isShown: may("deliveries:read") && !isHidden("activity"),
    },
    {
      page: "event-types",
      below: [],
      title: t("types.title"),
      isShown: may("endpoints:read") && !isHidden("event_types"),
    },
    { page: "notifications", below: [], title: t("told.title"), isShown: maySetChannels() },
    { page: "help", below: [], title: t("help.title"), isShown: !isHidden("help") },
  ];
  return all.filter(({ isShown }) => isShown);
}

function isAt(path: string, { page, below }: { readonly page: string; readonly below: readonly string[] }) {
  return (
    path === routePath(page) ||
    [page, ...below].some((name) => name !== "" && `${path}/`.startsWith(routePath(`${name}/`)))
  );
}

/** Announces the end of the session two minutes ahead. Form input is kept. */
function SessionNote({ view }: { readonly view: PortalSession }) {
  const isOver = isSessionOver.value || leftMs.value === 0;
  const isSoon = isEnding.value && !isOver;
  useEffect(() => {
    if (isOver) announce(t("session.over"));
    else if (isSoon) announce(t("session.soon"));
  }, [isOver, isSoon]);
  if (!isOver && !isSoon) return null;
  const { return_url: back } = view.theme;
  return (
    <div class="note note-bad portal-note">
      <p>{t(isOver ? "session.over" : "session.soon")}</p>
      <p>{t(isOver ? "session.over.text" : "session.soon.text")}</p>
      <p class="actions">
        {isFramed && (
          <button type="button" onClick={askForCode}>
            {t("session.extend")}
          </button>
        )}
        {back !== null && (
          <Outside href={back} target="_top">
            {t("session.return")}
          </Outside>
        )}
      </p>
    </div>
  );
}
