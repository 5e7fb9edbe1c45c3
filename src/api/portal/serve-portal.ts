/**
 * Serves the customer portal: one document for every address below `/portal/`, its assets, the theme and logo of a
 * session, and the embed script for host pages. The session in the address determines which pages may frame it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { NotFoundError } from "../../core/errors.ts";
import { messageOf } from "../../core/thrown.ts";
import { isUuid } from "../../core/uuid.ts";
import { logoSchemes, type PortalSession } from "../../ports/store/portal.ts";
import type { ApiOptions, Portal } from "../context.ts";
import { renderError, send } from "../dispatch.ts";
import { isolation } from "../inbound/foreign-answer.ts";
import { renderProblem } from "../problems.ts";
import {
  assetCaching,
  contentSecurityPolicy,
  fileAt,
  noPermissions,
  plainHeaders,
  sendFile,
  unavailablePage,
} from "../static-files.ts";

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
  sendFile(reply, { request, file: fileAt(files, path, assetHeaders, pageHeaders) });
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

/** Used by other sites at an address without a version, so it is cached only briefly. */
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
  sendFile(reply, { request, file: { ...file, headers } });
}

async function framersOf({ services }: PortalOptions, request: FastifyRequest): Promise<readonly string[]> {
  return services.portalLooks.framers(await sessionOf(services, request));
}

/** The session id is not a secret: it reveals only the theme that its customer would see. */
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

/** The address contains the version of the theme, so the response is immutable. */
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
  sendFile(reply, {
    request,
    file: {
      contentType: logo.mediaType,
      body: logo.bytes,
      encodings: {},
      // The file comes from a customer or tenant; opened directly, it must only be an image.
      headers: { ...isolation, ...assetCaching },
    },
  });
}
