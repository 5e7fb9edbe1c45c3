/**
 * An application that embeds the portal: a page on another site, a backend that creates sessions, and a browser that
 * denies the portal access to storage.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { BrowserContext } from "playwright-core";
import { browserOptions } from "./browser.fixture.ts";

export interface HostPage {
  /** On `localhost`, which is a different site from the server's, 127.0.0.1. */
  readonly origin: string;
  readonly url: string;
  /** Number of sessions that the host's backend has created. */
  readonly sessions: number;
  /** How many times a browser has loaded the page. */
  readonly loads: number;
  close(): Promise<void>;
}

/** `makeSession` is the host's backend; `refuses` is called before each session is created. */
export async function startHost(options: {
  readonly portalUrl: string;
  readonly makeSession: (origin: string) => Promise<object>;
}): Promise<HostPage> {
  let sessions = 0;
  let loads = 0;
  let origin = "";
  const server = createServer((request, response) => {
    if (request.url === "/portal-session") {
      sessions += 1;
      options.makeSession(origin).then(
        (session) => response.setHeader("content-type", "application/json").end(JSON.stringify(session)),
        () => response.writeHead(500).end(),
      );
      return;
    }
    if (request.url?.startsWith("/?") === true || request.url === "/") loads += 1;
    response.setHeader("content-type", "text/html").end(documentOf(options.portalUrl));
  });
  await new Promise<void>((resolve) => void server.listen(0, "localhost", resolve));
  origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    url: `${origin}/`,
    get sessions() {
      return sessions;
    },
    get loads() {
      return loads;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const documentOf = (portalUrl: string): string => `<!doctype html>
<html lang="en"><head><title>Host</title><script src="${portalUrl}/portal/embed.js" async></script></head>
<body><h1>Host</h1><posthorn-portal></posthorn-portal><script>
const portal = document.querySelector("posthorn-portal");
window.heard = [];
portal.getSession = async () => (await fetch("/portal-session", { method: "POST" })).json();
for (const name of ["navigate", "endpoint-created", "session-ended", "session-failed"])
  portal.addEventListener(name, ({ detail }) => heard.push([name, detail.path ?? detail.id ?? ""]));
const wanted = new URLSearchParams(location.search);
if (wanted.has("reloads")) portal.addEventListener("session-ended", () => location.reload());
for (const name of ["path", "theme", "locale"]) if (wanted.has(name)) portal.setAttribute(name, wanted.get(name));
</script></body></html>`;

/** A browser that blocks storage for frames from other sites. */
export interface StrictBrowser {
  readonly context: BrowserContext;
  closePages(): Promise<void>;
  close(): Promise<void>;
}

export async function openStrictBrowser(): Promise<StrictBrowser> {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-browser-"));
  mkdirSync(join(folder, "Default"));
  const preferences = { profile: { block_third_party_cookies: true, cookie_controls_mode: 1 } };
  writeFileSync(join(folder, "Default", "Preferences"), JSON.stringify(preferences));
  const context = await chromium.launchPersistentContext(folder, {
    ...browserOptions(),
    viewport: { width: 360, height: 800 },
  });
  return {
    context,
    // Closes all pages except one. If all pages were closed, the window would close and the browser with it.
    closePages: async () => {
      await Promise.all(
        context
          .pages()
          .slice(1)
          .map((page) => page.close()),
      );
    },
    close: async () => {
      await context.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
