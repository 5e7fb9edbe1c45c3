/**
 * The files of the dashboard and of the portal. In the package they were built by `npm run build`, next to the code.
 * When running from source they are bundled in memory on first use, which takes a moment.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { DashboardFile } from "../http/server.ts";
import { messageOf } from "../domain/thrown.ts";

const builtFolder = (pages: Pages): string => join(import.meta.dirname, "..", pages);
const bundler = join(import.meta.dirname, "..", "..", "scripts", "bundle-dashboard.ts");

/** Folder name in the package. */
type Pages = "ui" | "portal";
type Files = ReadonlyMap<string, DashboardFile>;

/** Reads or bundles the files once; retries after a failure. Rejects with a readable reason. */
export function filesOfPages(pages: Pages): () => Promise<Files> {
  let loading: Promise<Files> | null = null;
  return () => {
    loading ??= load(pages).catch((error: unknown) => {
      loading = null;
      throw error;
    });
    return loading;
  };
}

async function load(pages: Pages): Promise<Files> {
  const folder = builtFolder(pages);
  const texts = existsSync(folder) ? readBuilt(folder) : await bundle(pages);
  return new Map([...texts].map(([path, body]) => [path, fileOf(path, body)]));
}

function readBuilt(folder: string): ReadonlyMap<string, Uint8Array> {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return new Map(
    paths
      .filter((path) => extname(path) in contentTypes)
      .map((path) => [path.replaceAll("\\", "/"), readFileSync(join(folder, path))]),
  );
}

async function bundle(pages: Pages): Promise<ReadonlyMap<string, Uint8Array>> {
  try {
    // Not part of the package, which contains the built files.
    const module = (await import(pathToFileURL(bundler).href)) as {
      bundlePages(pages: Pages): Promise<ReadonlyMap<string, Uint8Array>>;
    };
    return await module.bundlePages(pages);
  } catch (error) {
    throw new Error(`The pages could not be bundled: ${messageOf(error)}`, { cause: error });
  }
}

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Fast, and within a few percent of the smallest size. */
const brotliQuality = 9;

function fileOf(path: string, body: Uint8Array): DashboardFile {
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality };
  return {
    contentType: contentTypes[extname(path)] ?? "application/octet-stream",
    body,
    encodings:
      path === "index.html" ? {} : { br: brotliCompressSync(body, { params }), gzip: gzipSync(body) },
  };
}
