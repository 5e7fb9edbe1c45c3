/** The files for Prometheus and Grafana: checked by Prometheus's own tool, and compared with their documentation. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { stringify } from "yaml";
import { alerts, expressions, monitoringFiles, runbookPathOf } from "../../scripts/monitoring.ts";
import { boards } from "../../scripts/monitoring/panels.ts";
import { projectRoot } from "../../scripts/source-files.ts";

const promtool = process.env["POSTHORN_TEST_PROMTOOL"] ?? "promtool";

function assertTakes(args: readonly string[], folder: string): void {
  const { status, stdout, stderr } = spawnSync(promtool, args, { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
}

const inProject = (path: string): string => readFileSync(join(projectRoot, path), "utf8");

test("the files are what `npm run monitoring` writes", () => {
  for (const [path, text] of monitoringFiles()) assert.equal(inProject(path), text, path);
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
  for (const alert of alerts) {
    const page = inProject(runbookPathOf(alert));
    assert.match(page, /^# .+\n\n.+\n\n## Look at\n\n- [^]+\n## Do\n\n- /, alert.name);
    for (const [, command = ""] of page.matchAll(/`posthorn (\w+(?: (?!ID)[a-z]+)?)/g))
      assert.ok(commands.has(`## ${command}`), `${alert.name}: posthorn ${command}`);
  }
  const pages = readdirSync(join(projectRoot, "docs/runbooks")).map((name) => `docs/runbooks/${name}`);
  assert.deepEqual(new Set(pages), new Set(alerts.map(runbookPathOf)));
});

test("dashboards keep their addresses, work with any Prometheus, and their panels do not overlap", () => {
  for (const board of boards) {
    const made = JSON.parse(inProject(`deploy/monitoring/dashboards/${board.file}`)) as Dashboard;
    assert.equal(made.uid, board.uid);
    assert.deepEqual(
      made.templating.list.map(({ name, type }) => [name, type]),
      [["datasource", "datasource"]],
    );
    const taken = new Set<string>();
    for (const { title, gridPos, targets } of made.panels) {
      for (const { datasource } of targets) assert.equal(datasource.uid, "${datasource}", title);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          assert.ok(x < 24 && !taken.has(`${x} ${y}`), `${board.file}: ${title}`);
          taken.add(`${x} ${y}`);
        }
    }
  }
});

interface Dashboard {
  readonly uid: string;
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
  readonly panels: readonly {
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets: readonly { readonly datasource: { readonly uid: string } }[];
  }[];
}
