import assert from "node:assert/strict";
import { resolveSettings } from "../../../src/config/resolve.ts";
import { type Container, readText } from "./deployment-files.fixture.ts";
import { imageEnvironment } from "./dockerfile.fixture.ts";
import type { SecretFiles } from "./secret-files.fixture.ts";

const { version } = JSON.parse(readText("package.json")) as { readonly version: string };
/** docs/cli.md is generated from the program, so it lists all commands. */
const commands = new Set([...readText("docs/cli.md").matchAll(/^## (.+)$/gm)].map(([, name = ""]) => name));

/** Rules that every container of Posthorn follows. */
export function assertFits(container: Container, secrets: SecretFiles): void {
  const { where, env, command } = container;
  assert.equal(container.image.split(":")[1], version, `${where}: the image of this version`);
  assert.ok(commands.has(command[0] ?? ""), `${where}: ${command.join(" ")} is no command`);
  assert.ok(container.isReadOnly, `${where}: the root file system is read-only`);
  assert.ok(container.dropsCapabilities, `${where}: without capabilities`);
  assert.ok(container.hasMemoryLimit, `${where}: bounded memory`);
  const resolution = resolveSettings({
    flags: {},
    env: { ...imageEnvironment(), ...env },
    readFile: secrets.readMounted,
  });
  assert.deepEqual(resolution.kind === "refused" ? resolution.problems : [], [], where);
  assert.ok(resolution.kind === "resolved");
  const { settings } = resolution;
  assert.equal(settings.host, "::", `${where}: reachable from outside the container`);
  assert.equal(settings.port, 8080, where);
  assert.ok(
    settings.databaseUrl !== null || settings.dataDir.startsWith("/data"),
    `${where}: data on the volume`,
  );
  const leftMs = container.stopMs - settings.shutdownGraceMs;
  assert.ok(command[0] !== "serve" || leftMs >= 5_000, `${where}: ${leftMs} ms left after the grace`);
}

/** The image must have a version tag that always refers to the same content. */
export function assertPinned({ image, where }: Pick<Container, "image" | "where">): void {
  assert.match(image, /:\d+\.\d+(\.\d+)?(-[a-z]+)*$/, `${where}: ${image} names no version`);
}
