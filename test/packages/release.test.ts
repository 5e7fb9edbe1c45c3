import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { releasedPackages, releaseProblems } from "../../scripts/release-check.ts";
import { root } from "./built-package.fixture.ts";

const read = (path: string) => readFileSync(join(root, path), "utf8");
const { version } = JSON.parse(read("package.json")) as { version: string };

test("a tag is released only if all versions and the changelog match it", () => {
  const withSection = (path: string) =>
    path === "CHANGELOG.md" ? `## [${version}] - 2026-11-23\n` : read(path);
  assert.deepEqual(releaseProblems(`v${version}`, withSection), []);
  assert.equal(releaseProblems("v99.0.0", withSection).length, releasedPackages.length + 2);
  assert.match(releaseProblems(`v${version}`, read)[0] ?? "", /CHANGELOG\.md has no section/);
  assert.match(releaseProblems("main", read)[0] ?? "", /is not a tag/);
});

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Job {
  readonly needs?: readonly string[];
  readonly environment?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}
const workflows = readdirSync(join(root, ".github/workflows")).map((name) => {
  const text = read(`.github/workflows/${name}`);
  return { name, text, workflow: parse(text) as Workflow };
});
const named = (wanted: string): Workflow =>
  workflows.find(({ name }) => name === wanted)?.workflow ?? assert.fail(`no workflow ${wanted}`);
const runsOf = (job: Job | undefined): readonly string[] =>
  job?.steps.flatMap(({ run }) => (run === undefined ? [] : [run])) ?? [];

test("actions are pinned by commit, with the version in a comment, and every job has a time limit", () => {
  for (const { name, text, workflow } of workflows) {
    const used = text.split("\n").filter((line) => /\buses:/.test(line));
    assert.ok(used.length > 0, name);
    for (const line of used)
      assert.match(line, /uses: actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, `${name}: ${line}`);
    for (const [job, { "timeout-minutes": minutes }] of Object.entries(workflow.jobs))
      assert.ok(minutes !== undefined && minutes <= 90, `${name}: ${job}`);
  }
});

test("only the publishing job may sign, and it runs nothing that was installed", () => {
  const { permissions, jobs } = named("publish.yml");
  assert.deepEqual(permissions, {});
  for (const { name, workflow } of workflows)
    for (const [job, { permissions: own }] of Object.entries(workflow.jobs)) {
      const rights = own ?? workflow.permissions;
      const publishes = name === "publish.yml" && job === "publish";
      assert.deepEqual(rights, publishes ? { "id-token": "write" } : { contents: "read" }, `${name}: ${job}`);
    }
  const { publish } = jobs;
  assert.deepEqual(publish?.needs, ["test", "pack"]);
  assert.equal(publish?.environment, "release");
  assert.ok(
    !publish?.steps.some(({ uses }) => uses?.includes("checkout")),
    "no code of the repository is there",
  );
  for (const run of runsOf(publish)) {
    assert.doesNotMatch(run, /npm (ci|install|run|exec|test)|npx/);
    assert.match(run, /npm publish "\.\/\$archive" --provenance --access public --ignore-scripts/);
  }
});

test("published archives were packed from every package, after all checks passed", () => {
  const { test: tests, pack, publish } = named("publish.yml").jobs;
  assert.ok(runsOf(tests).includes(".ci/run"));
  assert.ok(runsOf(tests).some((run) => run.includes("release-check")));
  const packed = runsOf(pack).find((run) => run.includes("npm pack")) ?? "";
  for (const folder of releasedPackages) {
    const { name } = JSON.parse(read(`${folder}/package.json`)) as { name: string };
    assert.ok(packed.includes(folder === "." ? " . " : ` ./${folder}`), `${folder} is packed`);
    const archive = name.replace("@", "").replace("/", "-");
    const pattern = folder === "." ? `archives/${archive}-[0-9]*.tgz` : `archives/${archive}-*.tgz`;
    assert.ok(
      runsOf(publish).some((run) => run.includes(pattern)),
      `${pattern} is published`,
    );
  }
});

test("every push and pull request runs the same checks as a developer", () => {
  const { jobs } = named("ci.yml");
  assert.deepEqual(
    Object.values(jobs)
      .flatMap(runsOf)
      .filter((run) => run.startsWith(".ci/")),
    [".ci/run"],
  );
});

test("a vulnerability is reported in private, and templates request the necessary details", () => {
  assert.match(read("SECURITY.md"), /do not open a public issue/i);
  for (const name of ["bug.yml", "feature.yml"]) {
    const { body } = parse(read(`.github/ISSUE_TEMPLATE/${name}`)) as { readonly body: readonly unknown[] };
    assert.ok(body.length > 1, name);
  }
  assert.match(read(".github/pull_request_template.md"), /npm test/);
});
