import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { rename, type Renames, renamesOf } from "../frozen/golden.ts";

const contextLines = 4;

/** Traces of an earlier commit: one compressed file per seed. */
export class KeptTraces {
  readonly #folder: string;
  readonly #renames: Renames = renamesOf("traces");

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  write(seed: number, lines: readonly string[]): void {
    writeFileSync(this.#fileOf(seed), gzipSync(lines.join("\n"), { level: 9 }));
  }

  /** The first difference from the stored trace, after renames were applied; null if the traces are equal. */
  firstDifference(seed: number, lines: readonly string[]): string | null {
    const kept = rename(gunzipSync(readFileSync(this.#fileOf(seed))).toString("utf8"), this.#renames).split(
      "\n",
    );
    const at = Array.from({ length: Math.max(kept.length, lines.length) }, (_, index) => index).find(
      (index) => kept[index] !== lines[index],
    );
    if (at === undefined) return null;
    const before = kept.slice(Math.max(0, at - contextLines), at).map((line) => `    ${line}`);
    const [old = "(the end)", now = "(the end)"] = [kept[at], lines[at]];
    return [`seed ${seed}, line ${at + 1}:`, ...before, `  - ${old}`, `  + ${now}`].join("\n");
  }

  #fileOf(seed: number): string {
    return join(this.#folder, `${seed}.gz`);
  }
}
