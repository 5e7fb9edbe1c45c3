/** Bundled files: one document for all addresses below a path, and assets with content hashes in their names. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { NotFoundError } from "../core/errors.ts";
import type { DashboardFile } from "./context.ts";
import { html, htmlAnswer, page } from "./docs/html.ts";
import type { Rendered } from "./problems.ts";

export const plainHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

export const assetCaching = { "cache-control": "public, max-age=31536000, immutable" };

/** Allows scripts, styles and connections only from this server, and never turns text into markup or script. */
export function contentSecurityPolicy(framers: readonly string[]): string {
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

export const noPermissions = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";

export interface SentFile extends DashboardFile {
  readonly headers: Readonly<Record<string, string>>;
}

/** An asset, or the document for every other path, whose script selects the page. */
export function fileAt(
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

/** The document refers to its files relative to the root of all pages, so that it works below any proxy prefix. */
function atDepth(text: string, path: string): string {
  const depth = path.split("/").length - 1;
  return text.replaceAll('"./assets/', `"${depth === 0 ? "./" : "../".repeat(depth)}assets/`);
}

export function sendFile(
  reply: FastifyReply,
  { request, file }: { readonly request: FastifyRequest; readonly file: SentFile },
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

/** Shown if the files could not be built. */
export function unavailablePage(title: string, reason: string): Rendered {
  const { headers = {}, text = "" } = htmlAnswer(
    page(
      "Posthorn",
      html`<h1>${title}</h1>
<p>${reason}</p><p>The server is running: <a href="../docs">API documentation</a>.</p>`,
    ),
  );
  return { status: 503, headers: { ...headers, "cache-control": "no-store" }, text };
}
