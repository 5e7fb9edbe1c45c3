import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { releasedPackages, releaseProblems } from "../../scripts/release/release-problems.ts";
import { root } from "./built-package.ts";

const read = (path: string) => readFileSync(join(root, path), "utf8");
const { version } = JSON.parse(read("package.json")) as { version: string };

test("a tag is released when all versions and the changelog are of it", () => {
  const withSection = (path: string) =>
    path === "CHANGELOG.md" ? `## [${version}] - 2026-11-23\n` : read(path);
  assert.deepEqual(releaseProblems({ tag: `v${version}`, read: withSection }), []);
  assert.equal(releaseProblems({ tag: "v99.0.0", read: withSection }).length, releasedPackages.length + 2);
  assert.match(releaseProblems({ tag: `v${version}`, read })[0] ?? "", /CHANGELOG\.md has no section/);
  assert.match(releaseProblems({ tag: "main", read })[0] ?? "", /is not a tag/);
});

test("the workflow publishes every package, with a statement of where it was built, after everything passed", () => {
  const workflow = parse(read(".github/workflows/publish.yml")) as {
    readonly permissions: Readonly<Record<string, string>>;
    readonly jobs: { readonly publish: { readonly steps: readonly { readonly run?: string }[] } };
  };
  assert.deepEqual(workflow.permissions, { "contents": "read", "id-token": "write" });
  const steps = workflow.jobs.publish.steps.flatMap(({ run }) => (run === undefined ? [] : [run]));
  const published = steps.filter((step) => step.startsWith("npm publish"));
  assert.equal(published.length, releasedPackages.length);
  for (const step of published) {
    const [, folder = ""] = /^npm publish (\S+) --provenance --access public$/.exec(step) ?? [];
    assert.ok(existsSync(join(root, folder, "package.json")), step);
  }
  assert.ok(steps.indexOf(".ci/run") < steps.indexOf(published[0] ?? ""));
  assert.ok(steps.some((step) => step.includes("release-check")));
});
