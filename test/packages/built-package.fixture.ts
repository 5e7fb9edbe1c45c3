/** The npm package in the form that users get: built, packed, and installed from the archive into an empty project. */
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../..");

export interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export class InstalledPackage implements Disposable {
  readonly #place = mkdtempSync(join(tmpdir(), "posthorn-package-"));
  /** The project that uses the package. */
  readonly project = join(this.#place, "project");
  readonly path: string;
  readonly name: "client" | "receiver";

  constructor(name: "client" | "receiver") {
    this.name = name;
    this.path = join(this.project, "node_modules", "@posthorn", name);
    const stage = join(this.#place, "stage");
    // Removes the variables of an outer npm process, because they would change the behaviour of this one.
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"));
    const env = { ...Object.fromEntries(inherited), npm_config_update_notifier: "false" };
    execFileSync(process.execPath, [join(root, "scripts", "build-package.ts"), name, "--out", stage], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    // Skips the build step of the manifest, which has already run.
    npm(["pack", "--ignore-scripts", "--pack-destination", this.#place], { cwd: stage, env });
    const archive = readdirSync(this.#place).find((file) => file.endsWith(".tgz")) ?? "";
    mkdirSync(this.project);
    writeFileSync(join(this.project, "package.json"), JSON.stringify({ private: true, type: "module" }));
    npm(["install", "--offline", "--no-audit", "--no-fund", join(this.#place, archive)], {
      cwd: this.project,
      env,
    });
  }

  get manifest(): Manifest {
    return JSON.parse(readFileSync(join(this.path, "package.json"), "utf8")) as Manifest;
  }

  /** Paths within the package. */
  files(): readonly string[] {
    return readdirSync(this.path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(this.path.length + 1));
  }

  write(name: string, text: string): string {
    const path = join(this.project, name);
    writeFileSync(path, text);
    return path;
  }

  /** Makes a development dependency of this repository importable in the project. */
  link(name: string): void {
    symlinkSync(join(root, "node_modules", name), join(this.project, "node_modules", name));
  }

  [Symbol.dispose](): void {
    rmSync(this.#place, { recursive: true, force: true });
  }
}

function npm(
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): void {
  execFileSync("npm", args, {
    ...options,
    stdio: ["ignore", "ignore", "pipe"],
    shell: process.platform === "win32",
  });
}

/** Code blocks of a page, in the order in which they occur. */
export function codeBlocks(page: string, language: string): readonly string[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "gm"))].map(
    ([, code = ""]) => code,
  );
}
