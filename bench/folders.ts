import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { leftovers } from "../test/services/leftovers.fixture.ts";

/** `statfs` type of a file system that lives in memory, where fsync does nothing. */
const tmpfsType = 0x01021994;
const memoryFolder = "/dev/shm";

/** Data folders of the rows, on a disk because fsync must be real. They are removed at the end, even after a kill. */
export class Folders {
  /** On disk. */
  readonly root: string;
  readonly #memoryRoot: string | null;
  readonly #templates = new Map<string, string>();

  constructor() {
    this.root = mkdtempSync(join(diskFolder(), "posthorn-bench-"));
    this.#memoryRoot = existsSync(memoryFolder) ? mkdtempSync(join(memoryFolder, "posthorn-bench-")) : null;
    for (const root of [this.root, this.#memoryRoot]) if (root !== null) leftovers.folder(root);
  }

  /** A new empty folder on disk. */
  fresh(name: string): string {
    return mkdtempSync(join(this.root, `${name}-`));
  }

  copy(from: string, name: string): string {
    const to = this.fresh(name);
    cpSync(from, to, { recursive: true });
    return to;
  }

  /**
   * A folder with the content that `fill` creates once for each key. In memory, where ten thousand small
   * transactions take a second instead of a minute, and copied to disk; only for data that is not measured.
   */
  async filled(name: string, key: string, fill: (folder: string) => Promise<void>): Promise<string> {
    let template = this.#templates.get(key);
    if (template === undefined) {
      template = mkdtempSync(join(this.#memoryRoot ?? this.root, "template-"));
      await fill(template);
      this.#templates.set(key, template);
    }
    return this.copy(template, name);
  }

  discard(folder: string): void {
    rmSync(folder, { recursive: true, force: true });
  }

  remove(): void {
    for (const root of [this.root, this.#memoryRoot]) if (root !== null) leftovers.removeFolder(root);
  }
}

function diskFolder(): string {
  if (statfsSync(tmpdir()).type !== tmpfsType) return tmpdir();
  const dataFolder = resolve(import.meta.dirname, "../data");
  mkdirSync(dataFolder, { recursive: true });
  return dataFolder;
}
