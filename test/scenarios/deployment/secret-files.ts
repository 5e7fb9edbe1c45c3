import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { root } from "./deployment-files.ts";

/** Secrets as deploy/make-secrets.sh makes them, in a folder that is removed with the block that made it. */
export class SecretFiles implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "posthorn-secrets-"));

  readonly #hosts: readonly string[];

  /** Of the database, the queue and Redis; the services of the compose files unless said otherwise. */
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

  /** Reads what a container finds at its own path, wherever the folder is mounted there. */
  readonly readMounted = (path: string): string => readFileSync(join(this.path, basename(path)), "utf8");

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
