/** The files in deploy/monitoring as tests read them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { projectRoot } from "../../scripts/source-files.ts";

const folder = join(projectRoot, "deploy/monitoring");

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook_url: string };
}

export interface Dashboard {
  readonly uid: string;
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
  readonly panels: readonly {
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets: readonly { readonly datasource: { readonly uid: string }; readonly expr: string }[];
  }[];
}

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly AlertRule[] }[];
}

const rules = parse(readFileSync(join(folder, "rules.yaml"), "utf8")) as RuleFile;
export const alerts: readonly AlertRule[] = rules.groups.flatMap((group) => group.rules);

/** Dashboards by file name. */
export const dashboards: ReadonlyMap<string, Dashboard> = new Map(
  readdirSync(join(folder, "dashboards")).map((name) => [
    name,
    JSON.parse(readFileSync(join(folder, "dashboards", name), "utf8")) as Dashboard,
  ]),
);

/** Every expression of the alerts and panels, as Prometheus evaluates it. */
export function expressions(): readonly string[] {
  const panels = [...dashboards.values()].flatMap((dashboard) => dashboard.panels);
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  return [...alerts.map(({ expr }) => expr), ...queries].map((expr) =>
    expr.replaceAll("$__rate_interval", "5m"),
  );
}

/** Names of the metrics that rules and panels use, without the suffixes of histograms. */
export function metricsRead(): ReadonlySet<string> {
  const names = expressions().flatMap(
    (expr) => expr.match(/\b(?:posthorn|webhook|process|nodejs)_\w+/g) ?? [],
  );
  const labels = new Set(["webhook_id"]);
  return new Set(
    names.filter((name) => !labels.has(name)).map((name) => name.replace(/_(?:bucket|sum|count)$/, "")),
  );
}
