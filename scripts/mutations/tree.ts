// A copy of the project that may be broken: mutations never touch the tree that somebody works in.

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectFiles, projectRoot } from "../source-files.ts";
import type { Mutation } from "./mutation.ts";

export class ScratchTree {
  readonly root = mkdtempSync(join(tmpdir(), "posthorn-mutations-"));

  constructor() {
    for (const path of projectFiles()) cpSync(join(projectRoot, path), join(this.root, path));
    symlinkSync(join(projectRoot, "node_modules"), join(this.root, "node_modules"), "junction");
  }

  /** Breaks one file while `work` runs. Throws when the text to be replaced does not occur exactly once. */
  async whileBroken<T>({ file, find, replace }: Mutation, work: () => Promise<T>): Promise<T> {
    const path = join(this.root, file);
    const text = readFileSync(path, "utf8");
    const parts = text.split(find);
    if (parts.length !== 2)
      throw new Error(`${file}: the text to be replaced occurs ${parts.length - 1} times, not once`);
    writeFileSync(path, parts.join(replace));
    try {
      return await work();
    } finally {
      writeFileSync(path, text);
    }
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
