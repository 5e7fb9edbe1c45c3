import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join, sep } from "node:path";
import type { TestContext } from "node:test";

const isCi = /^(1|true)$/i.test(process.env["CI"] ?? "");

/** Path of a Node 20 on this system. If none is installed, returns null and skips the test, or fails with CI=true. */
export function node20For(t: TestContext): string | null {
  const found = (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => !folder.includes(`${sep}node_modules${sep}`))
    .map((folder) => join(folder, process.platform === "win32" ? "node.exe" : "node"))
    .find((path) => existsSync(path) && versionOf(path).startsWith("v20."));
  if (found !== undefined) return found;
  if (isCi) throw new Error("no Node 20 on the PATH; with CI=true that is a failure");
  t.skip("no Node 20 on the PATH");
  return null;
}

function versionOf(node: string): string {
  return execFileSync(node, ["--version"], { encoding: "utf8" });
}
