import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { NotFoundError } from "../domain/errors.ts";
import { messageOf } from "../domain/thrown.ts";
import { isUuid } from "../domain/uuid.ts";
import { logoSchemes, type PortalSession } from "../ports/store/portal.ts";
import type { ApiOptions, DashboardFile, Portal } from "./context.ts";
import { renderError, send } from "./dispatch.ts";
import { html, htmlAnswer, page } from "./docs/html.ts";
import { isolation } from "./foreign-answer.ts";
import { type Rendered, renderProblem } from "./problems.ts";

/** Bundled files: one document for all addresses below a path, and assets with content hashes in their names. */

const plainHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

const assetCaching = { "cache-control": "public, max-age=31536000, immutable" };

/** Allows scripts, styles and connections only from this server, and never turns text into markup or script. */
function contentSecurityPolicy(framers: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "object-src 'none'",
    `frame-ancestors ${framers.length === 0 ? "'none'" : framers.join(" ")}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

const noPermissions = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";

interface SentFile extends DashboardFile {
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns an asset, or the document for every other path. The document's script selects the page. */
function fileAt(
  files: ReadonlyMap<string, DashboardFile>,
  path: string,
  assetHeaders: SentFile["headers"],
  pageHeaders: SentFile["headers"],
): SentFile {
  const isAsset = path.startsWith("assets/");
  const file = files.get(isAsset ? path : "index.html");
  if (file === undefined) throw new NotFoundError("this file");
  if (isAsset) return { ...file, headers: assetHeaders };
  const text = atDepth(Buffer.from(file.body).toString("utf8"), path);
  return { ...file, body: Buffer.from(text), headers: pageHeaders };
}

/**
 * Adapts the document's file references to the depth of its address. They are relative to the root of all pages, so the
 * document works below any proxy prefix.
 */
function atDepth(text: string, path: string): string {
  const depth = path.split("/").length - 1;
  return text.replaceAll('"./assets/', `"${depth === 0 ? "./" : "../".repeat(depth)}assets/`);
}

function sendFile(reply: FastifyReply, request: FastifyRequest, file: SentFile): void {
  const encoding = encodingFor(request.headers["accept-encoding"], file);
  const body = (encoding === null ? null : file.encodings[encoding]) ?? file.body;
  reply.hijack();
  reply.raw.writeHead(200, {
    ...file.headers,
    "content-type": file.contentType,
    "content-length": body.byteLength,
    "vary": "accept-encoding",
    ...(encoding !== null && { "content-encoding": encoding }),
  });
  reply.raw.end(request.method === "HEAD" ? undefined : body);
}

function encodingFor(
  accepted: string | string[] | undefined,
  { encodings }: DashboardFile,
): "br" | "gzip" | null {
  const names = new Set(
    String(accepted ?? "")
      .split(",")
      .map((entry) => entry.trim())
      .filter((entry) => !/;\s*q=0(\.0*)?$/.test(entry))
      .map((entry) => entry.split(";")[0]),
  );
  return (["br", "gzip"] as const).find((name) => encodings[name] !== undefined && names.has(name)) ?? null;
}

/** Shown if the files could not be built. */
function unavailablePage(title: string, reason: string): Rendered {
  const { headers = {}, text = "" } = htmlAnswer(
    page(
      "Posthorn",
      html`<h1>${title}</h1>
<p>${reason}</p><p>The server is running: <a href="../docs">API documentation</a>.</p>`,
    ),
  );
  return { status: 503, headers: { ...headers, "cache-control": "no-store" }, text };
}

// Serves the dashboard: one document for every address below `/ui/`, and its immutable assets.

const commonHeaders = { ...plainHeaders, "cross-origin-opener-policy": "same-origin" };

const pageHeaders = {
  ...commonHeaders,
  "content-security-policy": contentSecurityPolicy([]),
  "permissions-policy": noPermissions,
  "cache-control": "no-store",
};

const assetHeaders = { ...commonHeaders, ...assetCaching };

export function serveDashboard(app: FastifyInstance, { dashboard, log, basePath = "" }: ApiOptions): void {
  if (dashboard === undefined || dashboard === null) return;
  app.get("/ui/*", (request, reply) => {
    const path = (request.params as { readonly "*": string })["*"];
    void dashboard
      .files()
      .then((files) => sendFile(reply, request, fileAt(files, path, assetHeaders, pageHeaders)))
      .catch((error: unknown) => {
        if (error instanceof NotFoundError) return send(reply, renderProblem(error, basePath));
        log.error({ error: messageOf(error) }, "the dashboard is unavailable");
        return send(reply, unavailablePage("The dashboard is unavailable", messageOf(error)));
      });
  });
}

// Serves the customer portal: one document for every address below `/portal/`, its assets, the theme and logo of a
// session, and the embed script for host pages. The session in the address determines which pages may frame it.

interface PortalOptions extends ApiOptions {
  readonly portal: Portal;
}

export function servePortal(app: FastifyInstance, options: ApiOptions): void {
  const { portal } = options;
  if (portal === undefined || portal === null) return;
  const more = { ...options, portal };
  app.get("/portal/*", answering(more, sendPage));
  app.get("/portal/embed.js", answering(more, sendEmbed));
  app.get("/portal/theme.css", answering(more, sendTheme));
  app.get("/portal/logo", answering(more, sendLogo));
}

type Work = (options: PortalOptions, request: FastifyRequest, reply: FastifyReply) => Promise<void>;

function answering(options: PortalOptions, work: Work) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { log, basePath = "" } = options;
    work(options, request, reply).catch((error: unknown) =>
      send(
        reply,
        error instanceof NotFoundError
          ? renderProblem(error, basePath)
          : renderError(error, log, request.id, basePath),
      ),
    );
  };
}

async function sendPage(options: PortalOptions, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const path = (request.params as { readonly "*": string })["*"];
  const assetHeaders = { ...plainHeaders, ...assetCaching };
  const files = await filesOf(options, reply);
  if (files === null) return;
  const framers = path.startsWith("assets/") ? [] : await framersOf(options, request);
  const pageHeaders = {
    ...plainHeaders,
    "content-security-policy": contentSecurityPolicy(framers),
    "permissions-policy": `${noPermissions}, clipboard-write=(self)`,
    "cache-control": "no-store",
  };
  sendFile(reply, request, fileAt(files, path, assetHeaders, pageHeaders));
}

async function filesOf({ portal, log }: PortalOptions, reply: FastifyReply) {
  try {
    return await portal.files();
  } catch (error) {
    log.error({ error: messageOf(error) }, "the portal is unavailable");
    send(reply, unavailablePage("The portal is unavailable", messageOf(error)));
    return null;
  }
}

/** Sends the embed script. Other sites use it under an address without a version, so it is cached only briefly. */
async function sendEmbed(
  options: PortalOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const files = await filesOf(options, reply);
  const file = files?.get("embed.js");
  if (files === null) return;
  if (file === undefined) throw new NotFoundError("this file");
  const headers = {
    ...plainHeaders,
    "cross-origin-resource-policy": "cross-origin",
    "cache-control": "public, max-age=300",
  };
  sendFile(reply, request, { ...file, headers });
}

async function framersOf({ services }: PortalOptions, request: FastifyRequest): Promise<readonly string[]> {
  return services.portalLooks.framers(await sessionOf(services, request));
}

/**
 * Returns the session that the query names; null if it does not exist. The session id is not a secret: it reveals only
 * the theme, which the customer sees anyway.
 */
async function sessionOf(
  { portalSessions }: ApiOptions["services"],
  request: FastifyRequest,
): Promise<PortalSession | null> {
  const { session: id } = request.query as { readonly session?: unknown };
  if (typeof id !== "string" || !isUuid(id)) return null;
  return portalSessions.get({ tenantId: null }, id).catch((error: unknown) => {
    if (error instanceof NotFoundError) return null;
    throw error;
  });
}

/** Sends the theme. The address contains the version of the theme, so the response is immutable. */
async function sendTheme(
  { services }: PortalOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { css } = await services.portalLooks.look(await sessionOf(services, request));
  const headers = { ...plainHeaders, ...assetCaching, "content-type": "text/css; charset=utf-8" };
  send(reply, { status: 200, headers, text: css });
}

async function sendLogo(
  { services }: PortalOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { scheme } = request.query as { readonly scheme?: unknown };
  const { logos } = await services.portalLooks.look(await sessionOf(services, request));
  const logo = logos[logoSchemes.find((name) => name === scheme) ?? "light"];
  if (logo === null) throw new NotFoundError("this logo");
  sendFile(reply, request, {
    contentType: logo.mediaType,
    body: logo.bytes,
    encodings: {},
    // The file comes from a customer or tenant. If it is opened directly, it must be treated only as an image.
    headers: { ...isolation, ...assetCaching },
  });
}
