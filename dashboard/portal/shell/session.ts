/** The session of a customer. Its token is kept only in memory. */
import { computed, signal } from "@preact/signals";
import type {
  PortalCapability,
  portalThemeFields,
  portalTokenSchema,
} from "../../../src/resources/portal.ts";
import type { Static } from "../../../src/resources/schema.ts";
import { bearer, callApi, isSessionOver } from "../../shared/api.ts";
import { now } from "../../shared/clock.ts";
import { refreshAll } from "../../shared/queries.ts";
import type { Shown } from "../../shared/resources.ts";
import { root } from "../../shared/root.ts";
import { hearHost, type HostMessage, hostScheme, isFramed, tellHost, trustHost } from "./host.ts";
import { speak, t } from "./language.ts";
import { goTo } from "./paths.ts";

/** Response of `POST /portal/session`. */
type Opened = Omit<Static<typeof portalTokenSchema>, "theme"> & {
  readonly theme: Shown<typeof portalThemeFields>;
};

export type PortalSession = Omit<Opened, "token">;

/** Undefined while opening, null without a session. */
export const session = signal<PortalSession | null | undefined>(undefined);
/** Why `session` is null. */
export const entryProblem = signal<"none" | "refused">("none");

const warningMs = 120_000;
const renewalMs = 60_000;

/** Remaining time of the session in milliseconds, or 0 when it has ended. */
export const leftMs = computed(() => {
  const view = session.value;
  if (view === null || view === undefined || isSessionOver.value) return 0;
  return Math.max(0, Date.parse(view.expires_at) - now.value);
});
export const isEnding = computed(() => leftMs.value < warningMs);

export function may(capability: PortalCapability): boolean {
  return session.value?.capabilities.includes(capability) === true;
}

export function isHidden(page: string): boolean {
  return session.value?.theme.hide?.some((name) => name === page) === true;
}

/** Removes the code from the URL and redeems it. Without a code, waits for one from the host. */
export async function enter(): Promise<void> {
  const code = /^#c=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, "", location.pathname + location.search);
  const asked = new URLSearchParams(location.search).get("locale");
  await speak([asked, ...navigator.languages, "en"]);
  hearHost((message, origin) => void heard(message, origin));
  if (code !== undefined) await redeem(code, location.ancestorOrigins?.[0] ?? null);
  else if (!isFramed) session.value = null;
  watchTheEnd();
}

async function heard(message: HostMessage, origin: string): Promise<void> {
  const { type, code, path, scheme, locale } = message;
  // A renewal repeats the initial path. Ignore it, because the user may have navigated since.
  const isRenewal = type === "posthorn:code" && (session.value ?? null) !== null;
  if (scheme === "light" || scheme === "dark") hostScheme.value = scheme;
  if (type === "posthorn:code" && typeof code === "string") await redeem(code, origin, locale);
  if (!isRenewal && typeof path === "string" && /^[\w/?=&.-]*$/.test(path)) goTo(path);
}

/** A rejected code does not affect an existing session. */
async function redeem(code: string, origin: string | null, locale?: unknown): Promise<void> {
  try {
    const { value } = await callApi<Opened>({
      method: "POST",
      path: "portal/session",
      body: { code },
      isAnonymous: true,
    });
    const { token, ...view } = value;
    bearer.token = token;
    if (isFramed && origin !== null && !trustHost(origin, view.embedded_by)) {
      await leave();
      throw new Error("this origin may not embed the portal");
    }
    await speak([typeof locale === "string" ? locale : view.locale, document.documentElement.lang]);
    const isFirst = (session.value ?? null) === null;
    dress(view);
    session.value = view;
    isSessionOver.value = false;
    if (!isFirst) await refreshAll();
  } catch {
    if ((session.value ?? null) !== null) return;
    entryProblem.value = "refused";
    session.value = null;
  }
}

/** Ends the session on the server. */
export async function leave(): Promise<void> {
  await callApi({ method: "DELETE", path: "portal/session" }).catch(() => undefined);
  bearer.token = null;
  isSessionOver.value = true;
}

/** Loads the host's theme as a stylesheet of this server. */
function dress({ theme_css: css }: PortalSession): void {
  const href = new URL(css, root).href;
  if (document.querySelector(`link[href="${href}"]`) !== null) return;
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = href;
  document.head.append(link);
}

let askedForCodeAt = 0;

/** Requests a new code from the host a minute before the session ends. */
function watchTheEnd(): void {
  leftMs.subscribe((left) => {
    const view = session.peek() ?? null;
    if (view === null) return;
    if (left < renewalMs && Date.now() - askedForCodeAt > renewalMs) askForCode();
    if (left === 0) tellHost({ type: "posthorn:session-ended" });
  });
}

export function askForCode(): void {
  askedForCodeAt = Date.now();
  tellHost({ type: "posthorn:renew" });
}

/**
 * Whether the session may manage channels. Channels belong to the tenant, so a session limited to some endpoints may
 * not.
 */
export function maySetChannels(): boolean {
  return may("notifications:write") && session.value?.webhook_ids === null && !isHidden("notifications");
}

/** A message that contains the host's noun for endpoints, which its theme sets. */
export function noun(key: "title.many" | "title.one" | "add" | "empty" | "delete"): string {
  return t(`noun.${session.value?.theme.words ?? "endpoint"}.${key}`);
}
