// A copy of the project that may be broken: mutations never touch the tree that somebody works in.

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectFiles, projectRoot } from "../source-files.ts";
import { aroundMutation, type Mutation } from "./mutation.ts";

export class ScratchTree {
  readonly root = mkdtempSync(join(tmpdir(), "posthorn-mutations-"));

  constructor() {
    for (const path of projectFiles()) cpSync(join(projectRoot, path), join(this.root, path));
    symlinkSync(join(projectRoot, "node_modules"), join(this.root, "node_modules"), "junction");
  }

  /** Breaks one file while `work` runs. Throws when the text to be replaced does not occur exactly once. */
  async whileBroken<T>(mutation: Mutation, work: () => Promise<T>): Promise<T> {
    const path = join(this.root, mutation.file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, aroundMutation(mutation, text).join(mutation.replace));
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
