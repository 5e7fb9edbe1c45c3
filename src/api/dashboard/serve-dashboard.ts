/** The pages of the dashboard: one document for every address below `/ui/`, and its files, which never change. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { NotFoundError } from "../../core/errors.ts";
import { messageOf } from "../../core/thrown.ts";
import type { ApiOptions, DashboardFile } from "../context.ts";
import { send } from "../dispatch.ts";
import { html, htmlAnswer, page } from "../docs/html.ts";
import { renderProblem } from "../problems.ts";
import type { Rendered } from "../problems.ts";

/** Scripts, styles and answers come from this server alone, and text never becomes markup or script. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "object-src 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const commonHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

const pageHeaders = {
  ...commonHeaders,
  "content-security-policy": contentSecurityPolicy,
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "cache-control": "no-store",
};

/** Their names say what is in them. */
const assetHeaders = { ...commonHeaders, "cache-control": "public, max-age=31536000, immutable" };

export function serveDashboard(app: FastifyInstance, { dashboard, log }: ApiOptions): void {
  if (dashboard === undefined || dashboard === null) return;
  app.get("/ui/*", (request, reply) => {
    const path = (request.params as { readonly "*": string })["*"];
    void dashboard
      .files()
      .then((files) => sendFile(reply, { request, file: fileAt(files, path) }))
      .catch((error: unknown) => {
        if (error instanceof NotFoundError) return send(reply, renderProblem(error));
        log.error({ error: messageOf(error) }, "the dashboard cannot be shown");
        return send(reply, { ...unavailable(messageOf(error)), status: 503 });
      });
  });
}

interface Sent extends DashboardFile {
  readonly headers: Readonly<Record<string, string>>;
}

/** An asset, or the document for everything else: which page it shows is for the script to find out. */
function fileAt(files: ReadonlyMap<string, DashboardFile>, path: string): Sent {
  const isAsset = path.startsWith("assets/");
  const file = files.get(isAsset ? path : "index.html");
  if (file === undefined) throw new NotFoundError("this file");
  if (isAsset) return { ...file, headers: assetHeaders };
  const text = atDepth(Buffer.from(file.body).toString("utf8"), { path });
  return { ...file, body: Buffer.from(text), headers: pageHeaders };
}

/** The document names its files relative to `/ui/`, so that it works below any prefix of a proxy. */
function atDepth(text: string, { path }: { readonly path: string }): string {
  const depth = path.split("/").length - 1;
  return text.replaceAll('"./assets/', `"${depth === 0 ? "./" : "../".repeat(depth)}assets/`);
}

function sendFile(
  reply: FastifyReply,
  { request, file }: { readonly request: FastifyRequest; readonly file: Sent },
): void {
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

function unavailable(reason: string): Omit<Rendered, "status"> {
  const { headers = {}, text = "" } = htmlAnswer(
    page(
      "Posthorn",
      html`<h1>The dashboard cannot be shown</h1>
<p>${reason}</p><p>The server itself works: <a href="../docs">API documentation</a>.</p>`,
    ),
  );
  return { headers: { ...headers, "cache-control": "no-store" }, text };
}
