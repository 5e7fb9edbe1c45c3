/** Checks that apply to every package in the folder `packages`. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type InstalledPackage, root } from "./built-package.fixture.ts";

export function assertStandsAlone(installed: InstalledPackage): void {
  const { manifest } = installed;
  for (const kind of ["dependencies", "peerDependencies", "optionalDependencies", "devDependencies"])
    assert.deepEqual(Object.keys(manifest[kind] ?? {}), [], kind);
  const whole = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  assert.equal(manifest.version, whole.version);
  assert.equal(
    readFileSync(join(installed.path, "LICENSE"), "utf8"),
    readFileSync(join(root, "LICENSE"), "utf8"),
  );
  assert.ok(existsSync(join(installed.path, "README.md")));
  assert.deepEqual(readdirSync(join(installed.project, "node_modules", "@posthorn")), [installed.name]);
}

/** The code and the types of every entry point. */
export function entryFiles(installed: InstalledPackage): readonly string[] {
  const entries = Object.values(installed.manifest.exports).filter((entry) => typeof entry !== "string");
  const targets = entries.flatMap((entry) => [entry.types, entry.default]);
  for (const target of targets) assert.ok(existsSync(join(installed.path, target)), target);
  return targets;
}

/**
 * The package must not contain any tests. From Posthorn, it may contain only the package's own folder and the domain
 * modules that it imports.
 */
export function assertHoldsNothingElse(installed: InstalledPackage): void {
  const expected = new RegExp(
    `^(dist/(${installed.name}|domain)/.+\\.(js|d\\.ts)|LICENSE|README\\.md|package\\.json)$`,
  );
  const foreign = installed.files().filter((path) => !expected.test(path) || /\.(test|fixture)\./.test(path));
  assert.deepEqual(foreign, []);
}

export function assertImportsNeighboursOnly(installed: InstalledPackage): void {
  for (const path of installed.files().filter((name) => name.endsWith(".js"))) {
    const code = readFileSync(join(installed.path, path), "utf8");
    const imports = [...code.matchAll(/(?<![.\w])(?:from|import)\s*\(?\s*["']([^"']+)["']/g)].map(
      ([, name = ""]) => name,
    );
    const foreign = imports.filter((name) => !name.startsWith("."));
    assert.deepEqual(foreign, [], path);
  }
}

/**
 * Checks the types in two strict projects: one with Node's types, and one with only the browser's types. `use` is the
 * application's code.
 */
export function assertTypesAreComplete(installed: InstalledPackage, use: string): void {
  installed.link("@types");
  const entries = Object.keys(installed.manifest.exports).filter((entry) => entry !== "./package.json");
  const imports = entries.map(
    (entry, index) => `import * as e${index} from "@posthorn/${installed.name}${entry.slice(1)}";`,
  );
  installed.write(
    "all.ts",
    [...imports, `console.log(${entries.map((_, index) => `e${index}`).join(", ")});`].join("\n"),
  );
  installed.write("use.ts", use);
  const strict = { strict: true, noEmit: true, module: "nodenext", skipLibCheck: false, target: "es2023" };
  const files = ["all.ts", "use.ts"];
  for (const [name, options] of [
    ["node", { ...strict, lib: ["es2023"], types: ["node"] }],
    [
      "browser",
      {
        ...strict,
        lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable", "esnext.disposable"],
        types: [],
      },
    ],
  ] as const) {
    installed.write(`tsconfig.${name}.json`, JSON.stringify({ compilerOptions: options, files }));
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
    try {
      execFileSync(process.execPath, [compiler, "-p", `tsconfig.${name}.json`], { cwd: installed.project });
    } catch (error) {
      assert.fail(`${name}:\n${String((error as { stdout?: Buffer }).stdout)}`);
    }
  }
}
