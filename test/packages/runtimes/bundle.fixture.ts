import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { type Manifest, root } from "../built-package.fixture.ts";

/** The expected output or response of the application on every runtime. */
export const works = {
  isThere: true,
  code: "invalid_request",
  outbox: "function",
  answered: [204, 204, 401],
  handled: [1],
};

/**
 * Bundles `entry`, the application and both packages into one module. The bundler fails if a module exists only in
 * Node.
 */
export async function bundled(entry: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    logLevel: "silent",
    alias: { ...sourcesOf("client"), ...sourcesOf("receiver") },
  });
  return outputFiles[0]?.text ?? "";
}

/** Every entry point of a package and its source file. */
function sourcesOf(name: string): Record<string, string> {
  const manifest = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")) as Manifest;
  return Object.fromEntries(
    Object.entries(manifest.exports).flatMap(([entry, target]) => {
      if (typeof target === "string") return [];
      const source = target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts");
      return [[`@posthorn/${name}${entry.slice(1)}`, join(root, source)]];
    }),
  );
}
