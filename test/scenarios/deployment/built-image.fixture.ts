/** The image that the Dockerfile describes, built with the same steps but without Docker. */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readText, root } from "./deployment-files.fixture.ts";

/** Source of the dependencies: the registry (or npm's cache), or a copy from this repository. */
type Installed = "installed" | "copied";

export class BuiltImage implements Disposable {
  readonly #place = mkdtempSync(join(tmpdir(), "posthorn-image-"));
  /** Path that corresponds to `/app` in the image. */
  readonly app = join(this.#place, "app");
  readonly dependencies: Installed;

  constructor() {
    try {
      this.dependencies = this.#build();
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  #build(): Installed {
    const context = join(this.#place, "context");
    for (const path of buildContext()) cpSync(join(root, path), join(context, path), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(context, "node_modules"));
    // In the image, `npm pack` runs this step (`prepack`) after it has installed the dependencies, which are only
    // linked here. Types are not checked, because `npm test` does that.
    execFileSync(process.execPath, ["scripts/build.ts", "--unchecked"], {
      cwd: context,
      stdio: ["ignore", "ignore", "pipe"],
    });
    npm(["pack", "--ignore-scripts", "--silent", "--pack-destination", this.#place], context);
    mkdirSync(this.app);
    const archive = join(this.#place, `posthorn-${version()}.tgz`);
    execFileSync("tar", ["--extract", "--gzip", "--strip-components=1", "--file", archive], {
      cwd: this.app,
    });
    const lockFiles = ["package-lock.json", ".npmrc"];
    for (const name of lockFiles) cpSync(join(context, name), join(this.app, name));
    const dependencies = this.#install();
    for (const name of lockFiles) rmSync(join(this.app, name));
    // The user in the image is not the user that runs the test.
    chmodSync(this.#place, 0o755);
    return dependencies;
  }

  #install(): Installed {
    try {
      const impatient = ["--prefer-offline", "--fetch-retries=0", "--fetch-timeout=20000"];
      npm(["ci", "--omit=dev", "--ignore-scripts", ...impatient], this.app);
      return "installed";
    } catch (error) {
      const message = String((error as { readonly stderr?: Buffer }).stderr);
      if (!/ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENOTCACHED|E50\d|network/.test(message))
        throw error;
    }
    rmSync(join(this.app, "node_modules"), { recursive: true, force: true });
    for (const path of productionPackages())
      cpSync(join(root, path), join(this.app, path), { recursive: true });
    return "copied";
  }

  [Symbol.dispose](): void {
    rmSync(this.#place, { recursive: true, force: true });
  }
}

/** Files that .dockerignore allows: it excludes everything and then lists exceptions. */
export function buildContext(): readonly string[] {
  const lines = readText(".dockerignore")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  if (lines[0] !== "*") throw new Error("the first line of .dockerignore refuses everything");
  return lines.slice(1).map((line) => {
    if (!/^!\.?[a-z][a-z.-]*(\/[a-z]+)*$/i.test(line)) throw new Error(`${line}: only names that are wanted`);
    return line.slice(1);
  });
}

/**
 * Starts a command as user 1000 without privileges. All file systems are read-only except one folder. Null if this
 * system does not support that: it requires root on Linux.
 */
export function confinement(writable: string): readonly string[] | null {
  if (process.getuid?.() !== 0 || spawnSync("unshare", ["--mount", "true"]).status !== 0) return null;
  return ["unshare", "--mount", "sh", "-euc", confine, "confine", writable];
}

const confine = `
mount --bind "$1" "$1"
for place in / /tmp /var /var/tmp /run /home /dev/shm; do
  if mountpoint --quiet "$place"; then mount -o remount,bind,ro "$place"; fi
done
if touch "$1/../probe" 2>/dev/null; then echo "not read-only" >&2; exit 1; fi
shift
exec setpriv --reuid 1000 --regid 1000 --clear-groups --no-new-privs --bounding-set -all "$@"`;

/** Names of the top-level packages. A package that only one other package needs may be nested. */
function productionPackages(): readonly string[] {
  interface Entry {
    readonly dev?: boolean;
    readonly optional?: boolean;
  }
  const lock = JSON.parse(readText("package-lock.json")) as {
    readonly packages: Readonly<Record<string, Entry>>;
  };
  return Object.entries(lock.packages)
    .filter(
      ([path, entry]) =>
        /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && entry.dev !== true && entry.optional !== true,
    )
    .map(([path]) => path);
}

function version(): string {
  return (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string })
    .version;
}

function npm(args: readonly string[], cwd: string): void {
  // Removes the variables of an outer npm process, because they would change the behaviour of this one.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"));
  const env = { ...Object.fromEntries(inherited), npm_config_update_notifier: "false" };
  execFileSync("npm", args, { cwd, env, stdio: ["ignore", "ignore", "pipe"] });
}
