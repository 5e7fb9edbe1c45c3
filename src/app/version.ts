import { readFileSync } from "node:fs";

/** Version of the package. The relative path is the same from src/app and from the compiled dist/app. */
export const version: string = readVersion();

function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return String((JSON.parse(text) as { readonly version?: unknown }).version);
}
