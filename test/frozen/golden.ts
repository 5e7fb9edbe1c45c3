/**
 * Golden files: the observable shape of the program at one commit, compared with the program as it is now.
 * How to compare, update and list renames: docs/notes/frozen-proofs.md.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

const folder = join(import.meta.dirname, "golden");
const isUpdate = process.env["POSTHORN_UPDATE_FROZEN"] === "1";
const diffLinesMax = 80;

/** Old name → new name. */
export type Renames = Readonly<Record<string, string>>;

/**
 * Fails with a line diff unless `text` equals the golden file. The golden file keeps the old names: the entry of the file in
 * renames.json is applied to it first. `sorted` files are sets of lines, or of blocks between empty lines, which a rename may
 * put into another order.
 */
export function assertFrozen(
  name: string,
  text: string,
  order: "sorted" | "sorted blocks" | "as written" = "as written",
): void {
  const actual = inOrder(text, order);
  if (isUpdate) {
    writeFileSync(join(folder, name), name.endsWith(".gz") ? gzipSync(actual, { level: 9 }) : actual);
    return;
  }
  assert.ok(existsSync(join(folder, name)), `test/frozen/golden/${name} is missing: ${updateHint}`);
  const renamed = rename(golden(name), renamesOf(name));
  const expected = inOrder(renamed, order);
  if (actual !== expected) assert.fail(`${name} differs from the golden file.\n${diff(expected, actual)}`);
}

export function golden(name: string): string {
  const bytes = readFileSync(join(folder, name));
  return (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
}

export function renamesOf(name: string): Renames {
  const all = JSON.parse(readFileSync(join(import.meta.dirname, "renames.json"), "utf8")) as Readonly<
    Record<string, Renames>
  >;
  return { ...all["*"], ...all[name] };
}

/** Replaces whole names in one pass, so that two names can be exchanged. */
export function rename(text: string, renames: Renames): string {
  const names = Object.keys(renames).toSorted((one, other) => other.length - one.length);
  if (names.length === 0) return text;
  const escaped = names.map((name) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  const pattern = new RegExp(`(?<![\\w-])(?:${escaped.join("|")})(?![\\w-])`, "g");
  return text.replaceAll(pattern, (name) => renames[name] ?? name);
}

function inOrder(text: string, order: "sorted" | "sorted blocks" | "as written"): string {
  if (order === "as written") return text;
  const end = order === "sorted" ? "\n" : "\n\n";
  return `${text.trimEnd().split(end).toSorted().join(end)}\n`;
}

const updateHint = "run POSTHORN_UPDATE_FROZEN=1 npm test -- test/frozen";

/** The first differences, with - for the golden file and + for the program as it is. */
function diff(expected: string, actual: string): string {
  const place = mkdtempSync(join(tmpdir(), "posthorn-frozen-"));
  try {
    writeFileSync(join(place, "golden"), expected);
    writeFileSync(join(place, "now"), actual);
    const { stdout } = spawnSync("git", ["diff", "--no-index", "--no-color", "-U3", "golden", "now"], {
      cwd: place,
      encoding: "utf8",
      maxBuffer: 1 << 28,
    });
    const lines = stdout.split("\n").slice(4);
    const more = lines.length - diffLinesMax;
    const shown = lines.slice(0, diffLinesMax).map((line) => line.slice(0, 400));
    return [
      ...shown,
      more > 0 ? `… ${more} more lines` : "",
      `If the change is intended: ${updateHint}`,
    ].join("\n");
  } finally {
    rmSync(place, { recursive: true });
  }
}
