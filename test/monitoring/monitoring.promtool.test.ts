/** The files for Prometheus and Grafana, checked by Prometheus's own tool and compared with their documentation. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { stringify } from "yaml";
import { projectRoot } from "../../scripts/source-files.ts";
import { alerts, dashboards, expressions } from "./monitoring-files.fixture.ts";

const promtool = process.env["POSTHORN_TEST_PROMTOOL"] ?? "promtool";

function assertTakes(args: readonly string[], folder: string): void {
  const { status, stdout, stderr } = spawnSync(promtool, args, { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
}

const inProject = (path: string): string => readFileSync(join(projectRoot, path), "utf8");

test("the page of the rules has their number", () => {
  assert.ok(inProject("deploy/monitoring/README.md").includes(`${alerts.length} alerts`));
});

test("WDS-33 WDS-195 WDS-205 WDS-209 WDS-212 WDS-236 WDS-237 WDS-238 WDS-239 WDS-240 WDS-241 each alert fires in its scenario, and not after it", () => {
  const folder = join(projectRoot, "deploy/monitoring");
  assertTakes(["check", "rules", "rules.yaml"], folder);
  assertTakes(["test", "rules", "rules.test.yaml", "rules-of-weeks.test.yaml"], folder);
});

test("Prometheus understands every panel", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-panels-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const rules = expressions().map((expr, index) => ({ record: `panel:${index}`, expr }));
  writeFileSync(join(folder, "panels.yaml"), stringify({ groups: [{ name: "panels", rules }] }));
  assertTakes(["check", "rules", "panels.yaml"], folder);
});

test("each alert has a page that says what to check and what to do, and each page has an alert", () => {
  const commands = new Set(inProject("docs/cli.md").match(/^## .+$/gm));
  for (const { alert, annotations } of alerts) {
    const page = inProject(annotations.runbook_url);
    assert.match(page, /^# .+\n\n.+\n\n## Look at\n\n- [^]+\n## Do\n\n- /, alert);
    for (const [, command = ""] of page.matchAll(/`posthorn (\w+(?: (?!ID)[a-z]+)?)/g))
      assert.ok(commands.has(`## ${command}`), `${alert}: posthorn ${command}`);
  }
  const pages = readdirSync(join(projectRoot, "docs/runbooks")).map((name) => `docs/runbooks/${name}`);
  assert.deepEqual(new Set(pages), new Set(alerts.map(({ annotations }) => annotations.runbook_url)));
});

test("dashboards keep their addresses, work with any Prometheus, and their panels do not overlap", () => {
  for (const [file, made] of dashboards) {
    assert.equal(made.uid, `posthorn-${file.replace(".json", "")}`);
    assert.deepEqual(
      made.templating.list.map(({ name, type }) => [name, type]),
      [["datasource", "datasource"]],
    );
    const taken = new Set<string>();
    for (const { title, gridPos, targets } of made.panels) {
      for (const { datasource } of targets) assert.equal(datasource.uid, "${datasource}", title);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          assert.ok(x < 24 && !taken.has(`${x} ${y}`), `${file}: ${title}`);
          taken.add(`${x} ${y}`);
        }
    }
  }
});
