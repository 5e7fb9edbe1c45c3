import { alerts } from "./alerts.ts";
import { dashboardJson } from "./dashboards.ts";
import { boards } from "./panels.ts";
import { rulesTestYaml, rulesYaml } from "./rules.ts";

/** What is made, by path within the project. */
export function monitoringFiles(): ReadonlyMap<string, string> {
  return new Map([
    ["deploy/monitoring/rules.yaml", rulesYaml()],
    ["deploy/monitoring/rules.test.yaml", rulesTestYaml("short")],
    ["deploy/monitoring/rules-of-weeks.test.yaml", rulesTestYaml("long")],
    ...boards.map((board) => [`deploy/monitoring/dashboards/${board.file}`, dashboardJson(board)] as const),
  ]);
}

/** Every expression, as Prometheus evaluates it. */
export function expressions(): readonly string[] {
  const panels = boards.flatMap((board) => board.panels.flatMap(({ queries }) => queries));
  return [...alerts.map(({ expr }) => expr), ...panels.map(({ expr }) => expr)].map((expr) =>
    expr.replaceAll("$__rate_interval", "5m"),
  );
}

/** Names of the metrics that rules and panels read, without the endings of histograms. */
export function metricsRead(): ReadonlySet<string> {
  const names = expressions().flatMap(
    (expr) => expr.match(/\b(?:posthorn|webhook|process|nodejs)_\w+/g) ?? [],
  );
  const labels = new Set(["webhook_id"]);
  return new Set(
    names.filter((name) => !labels.has(name)).map((name) => name.replace(/_(?:bucket|sum|count)$/, "")),
  );
}
