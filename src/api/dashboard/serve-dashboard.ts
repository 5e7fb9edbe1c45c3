/** Serves the dashboard: one document for every address below `/ui/`, and its immutable assets. */
import type { FastifyInstance } from "fastify";
import { NotFoundError } from "../../core/errors.ts";
import { messageOf } from "../../core/thrown.ts";
import type { ApiOptions } from "../context.ts";
import { send } from "../dispatch.ts";
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
      .then((files) => sendFile(reply, { request, file: fileAt(files, path, assetHeaders, pageHeaders) }))
      .catch((error: unknown) => {
        if (error instanceof NotFoundError) return send(reply, renderProblem(error, basePath));
        log.error({ error: messageOf(error) }, "the dashboard is unavailable");
        return send(reply, unavailablePage("The dashboard is unavailable", messageOf(error)));
      });
  });
}
