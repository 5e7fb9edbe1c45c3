import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { leftovers } from "../test/services/leftovers.fixture.ts";

/** `statfs` type of an in-memory file system, on which fsync does nothing. */
const tmpfsType = 0x01021994;
const memoryFolder = "/dev/shm";

/**
 * Data folders of the rows. They are on disk because fsync must be real. They are removed at the end, even if the
 * process is killed.
 */
export class Folders {
  /** Root folder on disk. */
  readonly root: string;
  readonly #memoryRoot: string | null;
  readonly #templates = new Map<string, string>();

  constructor() {
    this.root = mkdtempSync(join(diskFolder(), "posthorn-bench-"));
    this.#memoryRoot = existsSync(memoryFolder) ? mkdtempSync(join(memoryFolder, "posthorn-bench-")) : null;
    for (const root of [this.root, this.#memoryRoot]) if (root !== null) leftovers.folder(root);
  }

  /** Creates an empty folder on disk. */
  fresh(name: string): string {
    return mkdtempSync(join(this.root, `${name}-`));
  }

  copy(from: string, name: string): string {
    const to = this.fresh(name);
    cpSync(from, to, { recursive: true });
    return to;
  }

  /**
   * A folder whose content `fill` creates once per key. The content is created in memory and then copied to disk,
   * because ten thousand small transactions take a second in memory and a minute on disk. Use it only for data that is
   * not measured.
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
