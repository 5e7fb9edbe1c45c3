import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import * as library from "../../../src/app/library.ts";
import { resolveSettings } from "../../../src/config/resolve.ts";
import { node20For } from "../../services/node20.fixture.ts";
import { assertPinned } from "./container-rules.fixture.ts";
import { BuiltImage, buildContext, confinement } from "./built-image.fixture.ts";
import { readText, root } from "./deployment-files.fixture.ts";
import {
  dockerfileInstructions,
  healthCommand,
  imageEnvironment,
  imageInstruction,
} from "./dockerfile.fixture.ts";
import { RunningContainer } from "./running-container.fixture.ts";

const manifest = JSON.parse(readText("package.json")) as {
  readonly scripts: { readonly prepack: string };
  readonly engines: { readonly node: string };
  readonly devDependencies: { readonly node: string };
};

suite("Dockerfile", () => {
  test("every stage has the Node of this project, which the package accepts", () => {
    const images = dockerfileInstructions().filter(({ name }) => name === "FROM");
    assert.equal(images.length, 3);
    for (const { value } of images) {
      const [image = ""] = value.split(" AS ");
      assertPinned({ image, where: "FROM" });
      const [, node = ""] = /^node:([\d.]+)-/.exec(image) ?? [];
      assert.equal(node, manifest.devDependencies.node);
      const [, least = ""] = /^>=([\d.]+)$/.exec(manifest.engines.node) ?? [];
      assert.ok(node.localeCompare(least, "en", { numeric: true }) >= 0);
    }
  });

  test("the image is not root, says how to stop it, and probes /livez with node itself", () => {
    assert.match(imageInstruction("USER"), /^[1-9]\d*:[1-9]\d*$/);
    assert.equal(imageInstruction("STOPSIGNAL"), "SIGTERM");
    assert.equal(imageInstruction("VOLUME"), "/data");
    assert.equal(imageInstruction("CMD"), '["serve"]');
    assert.equal(healthCommand()[0], "node");
    assert.match(healthCommand().join(" "), /\/livez/);
    assert.doesNotMatch(readText("Dockerfile").replaceAll(/^#.*$/gm, ""), /curl|wget|latest|apt-get/);
  });

  test("its environment consists of settings, without secrets, and matches the exposed port", () => {
    const resolution = resolveSettings({ flags: {}, env: imageEnvironment() });
    assert.ok(resolution.kind === "resolved", JSON.stringify(resolution));
    const { settings } = resolution;
    assert.equal(String(settings.port), imageInstruction("EXPOSE"));
    assert.deepEqual([settings.host, settings.dataDir, settings.dev], ["::", "/data", false]);
    assert.ok(settings.adminKey === null && settings.masterKey === null);
  });

  test("the build context contains only what it needs", () => {
    for (const path of buildContext()) assert.ok(existsSync(join(root, path)), path);
    assert.match(manifest.scripts.prepack, / scripts\/build\.ts$/, "packing builds");
    assert.deepEqual(
      buildContext().filter((path) => /^(data|deploy|node_modules|\.git)$/.test(path)),
      [],
    );
  });
});

suite("output of the Dockerfile", () => {
  let image: BuiltImage;
  before(() => {
    image = new BuiltImage();
  });
  after(() => image[Symbol.dispose]());

  test("contains the program, its README and licence, and no development dependency", () => {
    const wanted = ["LICENSE", "README.md", "bin", "dist", "node_modules", "package.json"];
    assert.deepEqual(readdirSync(image.app).toSorted(), wanted);
    assert.ok((statSync(join(image.app, "dist/cli/main.js")).mode & 0o111) !== 0, "the program can be run");
    for (const name of ["node", "typescript", "oxlint", "svix"])
      assert.ok(!existsSync(join(image.app, "node_modules", name)), name);
    const files = readdirSync(join(image.app, "dist"), { recursive: true, encoding: "utf8" });
    assert.deepEqual(
      files.filter((path) => /\.(test|fixture)\.|(?<!\.d)\.ts$/.test(path)),
      [],
    );
  });

  test("its library can be imported and required", () => {
    const entry = join(image.app, "dist/app/package-entry.js");
    const names = (program: string): readonly unknown[] =>
      JSON.parse(
        execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" }),
      ) as readonly unknown[];
    const expected = Object.keys(library).toSorted();
    assert.deepEqual(
      names(`console.log(JSON.stringify(Object.keys(await import("${entry}")).toSorted()))`),
      expected,
    );
    const required = `import { createRequire } from "node:module";
      const names = Object.keys(createRequire("/")("${entry}")).toSorted();
      console.log(JSON.stringify(names.filter((name) => name !== "__esModule")));`;
    assert.deepEqual(names(required), expected);
  });

  test("on an older Node says which one it needs, as a program and as a library", (t) => {
    const node = node20For(t);
    if (node === null) return;
    const needed = manifest.engines.node.replace(">=", "").replace(".", "\\.");
    const sentence = new RegExp(
      `Posthorn needs Node ${needed} or later, and this is Node 20\\.[^]*: install a newer one`,
    );
    const program = spawnSync(node, [join(image.app, "dist/cli/main.js"), "serve"], { encoding: "utf8" });
    assert.deepEqual([program.status, program.stdout], [1, ""]);
    assert.match(program.stderr, sentence);
    assert.equal(program.stderr.trimEnd().split("\n").length, 1);
    const importing = `import "${join(image.app, "dist/app/package-entry.js")}"`;
    const imported = spawnSync(node, ["--input-type=module", "--eval", importing], { encoding: "utf8" });
    assert.match(imported.stderr, sentence);
  });

  test("serves with the image's environment, is reported healthy, and ends at SIGTERM within the grace period", async (t) => {
    t.diagnostic(`dependencies ${image.dependencies}`);
    const place = mkdtempSync(join(tmpdir(), "posthorn-volume-"));
    t.after(() => rmSync(place, { recursive: true, force: true }));
    const data = join(place, "data");
    mkdirSync(data, { mode: 0o700 });
    const confined = confinement(data);
    if (confined === null) t.diagnostic("not confined to a read-only file system: that takes root on Linux");
    else {
      chmodSync(place, 0o755);
      chownSync(data, 1000, 1000);
    }
    const [, ...entry] = JSON.parse(imageInstruction("ENTRYPOINT")) as string[];
    const program = entry.map((path) => path.replace(/^\/app/, image.app));
    const args = JSON.parse(imageInstruction("CMD")) as string[];
    const container = await RunningContainer.start({
      command: [...(confined ?? []), process.execPath, ...program, ...args],
      env: { ...imageEnvironment(), POSTHORN_DATA_DIR: data },
    });
    t.after(() => container.kill());
    await container.assertAnswersProbes();
    const isHealthy = (port: number): boolean => {
      const [, ...command] = healthCommand();
      try {
        execFileSync(process.execPath, command, { env: { POSTHORN_PORT: String(port) }, stdio: "ignore" });
        return true;
      } catch {
        return false;
      }
    };
    assert.ok(isHealthy(container.port), "the health check passes while it runs");
    assert.deepEqual(
      readdirSync(data)
        .filter((name) => name.endsWith(".key"))
        .toSorted(),
      ["admin.key", "digest.key", "master.key"],
    );
    assert.doesNotMatch(container.output, /"level":"(warn|error)"/);
    await container.assertEndsWithin(Number(imageEnvironment()["POSTHORN_SHUTDOWN_GRACE_MS"]));
    assert.ok(!isHealthy(container.port), "and fails when nothing answers");
  });
});
