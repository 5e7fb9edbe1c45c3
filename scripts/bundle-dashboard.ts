// Bundles the dashboard and the portal: for `npm run build`, and for a server that runs from source.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild";

const root = resolve(import.meta.dirname, "..", "dashboard");

/** Single-page apps below `/ui/` and `/portal/`. */
const pagesOf = {
  ui: { folder: "operator", script: "dashboard", styles: join("shared", "styles", "all.css"), embed: false },
  portal: { folder: "portal", script: "portal", styles: join("portal", "styles", "all.css"), embed: true },
} as const;
export type Pages = keyof typeof pagesOf;

/** See dashboard/language-pages.d.ts. */
const languagePages: Plugin = {
  name: "language pages",
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/]docs[\\/]languages[\\/]\w+\.md$/ }, ({ path }) => {
      const programs = programsOf(readFileSync(path, "utf8"))
        .filter(({ section }) => section === "Verify")
        .map(({ name, code, isExecuted }) => ({ name, code, isExecuted }));
      return { contents: `export const programs = ${JSON.stringify(programs)};`, loader: "js" };
    });
  },
};

const common: BuildOptions = {
  plugins: [languagePages],
  bundle: true,
  write: false,
  minify: true,
  target: ["chrome120", "firefox121", "safari17.2"],
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  tsconfigRaw: {},
  logLevel: "silent",
};

/**
 * Bundles the pages. Returns contents by path below `/ui/` or `/portal/`: `index.html`, its files in `assets/` with a
 * hash in each name, and `embed.js` of the portal. Rejects with the errors of the bundler.
 */
export async function bundlePages(pages: Pages): Promise<ReadonlyMap<string, Uint8Array>> {
  const { folder, script, styles, embed } = pagesOf[pages];
  const { outputFiles = [], metafile } = await build({
    ...common,
    metafile: true,
    entryPoints: { [script]: join(root, folder, "main.tsx"), styles: join(root, styles) },
    format: "esm",
    splitting: true,
    jsx: "automatic",
    jsxImportSource: "preact",
    outdir: "/assets",
    entryNames: "[name]-[hash]",
    chunkNames: "part-[hash]",
  });
  const files = new Map<string, Uint8Array>();
  for (const { path, contents } of outputFiles) files.set(assetOf(path), contents);
  const icon = readFileSync(join(root, "shared", "icon.svg"));
  files.set(`assets/icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`, icon);
  files.set("index.html", Buffer.from(documentFor([...files.keys()], metafile, pages)));
  if (embed) files.set("embed.js", await bundleEmbed());
  return files;
}

/** One classic script, for other websites. */
async function bundleEmbed(): Promise<Uint8Array> {
  const entryPoints = [join(root, "embed", "embed.ts")];
  const { outputFiles = [] } = await build({ ...common, entryPoints, format: "iife", outdir: "/" });
  return outputFiles[0]?.contents ?? new Uint8Array();
}

function documentFor(paths: readonly string[], metafile: Metafile, pages: Pages): string {
  const { folder, script } = pagesOf[pages];
  const kinds = { script: new RegExp(`/${script}-\\w+\\.js$`), style: /\.css$/, icon: /\.svg$/ };
  const entry = paths.find((path) => kinds.script.test(path)) ?? "";
  // The browser loads these immediately instead of waiting for the script that imports them.
  const links = partsOf(entry, metafile).map((path) => `<link rel="modulepreload" href="./${path}" />`);
  const template = readFileSync(join(root, folder, "index.html"), "utf8").replace(
    "{{parts}}",
    links.join(""),
  );
  return Object.entries(kinds).reduce(
    (text, [name, form]) =>
      text.replaceAll(`{{${name}}}`, `./${paths.find((path) => form.test(path)) ?? ""}`),
    template,
  );
}

/** The direct and indirect imports of the script, which are loaded before it runs. */
function partsOf(entry: string, { outputs }: Metafile): readonly string[] {
  const imports = new Map(
    Object.entries(outputs).map(([path, output]) => [
      assetOf(path),
      output.imports.filter(({ kind }) => kind === "import-statement").map((one) => assetOf(one.path)),
    ]),
  );
  const parts = new Set(imports.get(entry));
  for (const part of parts) for (const further of imports.get(part) ?? []) parts.add(further);
  return [...parts];
}

function assetOf(path: string): string {
  return `assets/${path.replace(/^.*[/\\]/, "")}`;
}

/** A program on a page of docs/languages. The tests run it, and the portal displays it. */
export interface LanguageProgram {
  /** Name of the file, from its first line. */
  readonly name: string;
  readonly code: string;
  /** Whether the tests execute the program. If they do not, the page says so. */
  readonly isExecuted: boolean;
  /** Title of the section that contains the program. */
  readonly section: string;
}

/** In the order in which they appear on the page. */
export function programsOf(page: string): readonly LanguageProgram[] {
  return page.split(/^## /m).flatMap((section) => {
    const blocks = section.matchAll(/(<!-- not executed: .+ -->\n)?^```\w+\n([^]*?)^```$/gm);
    return [...blocks].map(([, mark, code = ""]) => ({
      name: /^(?:<\?php )?(?:\/\/|#) ([\w.]+)/.exec(code)?.[1] ?? "",
      code,
      isExecuted: mark === undefined,
      section: section.split("\n", 1)[0] ?? "",
    }));
  });
}
