import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { root } from "./deployment-files.fixture.ts";

/** Secrets created by deploy/make-secrets.sh, in a folder that is removed at the end of the block that created it. */
export class SecretFiles implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "posthorn-secrets-"));

  readonly #hosts: readonly string[];

  /** Addresses of the database, the queue and Redis; the default is the services of the compose files. */
  constructor(hosts: readonly string[] = []) {
    this.#hosts = hosts;
    this.make();
  }

  make(): void {
    execFileSync("sh", [join(root, "deploy/make-secrets.sh"), this.path, ...this.#hosts]);
  }

  names(): readonly string[] {
    return readdirSync(this.path).toSorted();
  }

  read(name: string): string {
    return readFileSync(join(this.path, name), "utf8").trim();
  }

  /** Reads a file by its path in the container, wherever the folder is mounted. */
  readonly readMounted = (path: string): string => readFileSync(join(this.path, basename(path)), "utf8");

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
