import { closeSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { OwnProcess, ownFolder } from "./own-process.fixture.ts";

/**
 * A disk that is small enough to fill: a tmpfs in a separate mount namespace. It does not require root, other processes
 * cannot see it, and it disappears with the process that holds it.
 */
export class SmallDisk {
  /** The path of the disk for processes started with `command`. */
  readonly folder: string;
  /** The path of the disk for all other processes. */
  readonly path: string;
  readonly #holder: OwnProcess;
  readonly #pid: string;

  private constructor(parts: {
    readonly folder: string;
    readonly holder: OwnProcess;
    readonly pid: string;
  }) {
    this.folder = parts.folder;
    this.#holder = parts.holder;
    this.#pid = parts.pid;
    this.path = `/proc/${parts.pid}/root${parts.folder}`;
  }

  /** Creates the disk. Returns the reason if this system does not allow it. */
  static async make({ bytes }: { readonly bytes: number }): Promise<SmallDisk | string> {
    const folder = ownFolder("small-disk", null);
    const script = 'mount -t tmpfs -o "size=$2" tmpfs "$1" && echo "mounted by $$" && exec sleep 100000';
    const holder = new OwnProcess([
      "unshare",
      "--user",
      "--map-root-user",
      "--mount",
      "sh",
      "-c",
      script,
      "sh",
      folder,
      String(bytes),
    ]);
    const mounted = /mounted by (\d+)/;
    try {
      await holder.until(() => mounted.test(holder.output), { what: "a small disk", withinMs: 100_000 });
    } catch {
      await holder.end("SIGKILL");
      return `needs user and mount namespaces: ${holder.output.trim() || "there is no unshare"}`;
    }
    return new SmallDisk({ folder, holder, pid: mounted.exec(holder.output)?.[1] ?? "" });
  }

  /** Wraps the command so that it has access to the disk. */
  command(command: readonly string[]): readonly string[] {
    return ["nsenter", "--target", this.#pid, "--user", "--mount", "--preserve-credentials", ...command];
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Fills the disk except for `leaveBytes`, with a file that only the test uses. */
  occupy({ leaveBytes = 0 }: { readonly leaveBytes?: number } = {}): void {
    const block = Buffer.alloc(4096);
    const file = openSync(join(this.path, "filler"), "a");
    try {
      while (this.freeBytes > leaveBytes) writeSync(file, block);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    } finally {
      closeSync(file);
    }
  }

  free(): void {
    rmSync(join(this.path, "filler"), { force: true });
  }

  async remove(): Promise<void> {
    await this.#holder.end("SIGKILL");
  }
}
