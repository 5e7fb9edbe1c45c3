// Bundles the dashboard: for `npm run build`, and for a server that runs from source.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";

const root = resolve(import.meta.dirname, "..", "dashboard");

/**
 * Contents by path below `/ui/`: `index.html`, and under `assets/` what it names, with a hash in each name. Rejects with the
 * errors of the bundler.
 */
export async function bundleDashboard(): Promise<ReadonlyMap<string, Uint8Array>> {
  const { outputFiles } = await build({
    entryPoints: {
      dashboard: join(root, "operator", "main.tsx"),
      styles: join(root, "shared", "styles", "all.css"),
    },
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    target: ["chrome120", "firefox121", "safari17.2"],
    jsx: "automatic",
    jsxImportSource: "preact",
    outdir: "/assets",
    entryNames: "[name]-[hash]",
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
    tsconfigRaw: {},
    logLevel: "silent",
  });
  const files = new Map<string, Uint8Array>();
  for (const { path, contents } of outputFiles) files.set(`assets/${path.replace(/^.*[/\\]/, "")}`, contents);
  const icon = readFileSync(join(root, "shared", "icon.svg"));
  files.set(`assets/icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`, icon);
  files.set("index.html", Buffer.from(documentFor([...files.keys()])));
  return files;
}

function documentFor(paths: readonly string[]): string {
  const template = readFileSync(join(root, "operator", "index.html"), "utf8");
  const kinds = { script: ".js", style: ".css", icon: ".svg" };
  return Object.entries(kinds).reduce(
    (text, [name, end]) =>
      text.replaceAll(`{{${name}}}`, `./${paths.find((path) => path.endsWith(end)) ?? ""}`),
    template,
  );
}
