// From the list of alerts to the files that Prometheus and promtool read.

import { stringify } from "yaml";
import type { Alert } from "./alert.ts";
import { alerts } from "./alerts.ts";

const made = "Made by `npm run monitoring` from scripts/monitoring.";

/** deploy/monitoring/rules.yaml */
export function rulesYaml(): string {
  const rules = alerts.map((alert) => ({
    alert: nameOf(alert),
    expr: alert.expr,
    ...(alert.lasts !== undefined && { for: alert.lasts }),
    labels: labelsOf(alert),
    annotations: annotationsOf(alert),
  }));
  return document({ groups: [{ name: "posthorn", rules }] });
}

/** deploy/monitoring/rules*.test.yaml: `promtool test rules` tells each story. */
export function rulesTestYaml(which: "short" | "long"): string {
  const told = alerts.filter(({ story }) => (story.isLong === true) === (which === "long"));
  return document({
    rule_files: ["rules.yaml"],
    evaluation_interval: which === "long" ? "15m" : "1m",
    tests: told.map((alert) => ({
      name: nameOf(alert),
      interval: "1m",
      input_series: alert.story.series,
      alert_rule_test: [
        {
          eval_time: alert.story.at,
          alertname: nameOf(alert),
          exp_alerts: [
            {
              exp_labels: { ...labelsOf(alert), ...alert.story.labels },
              exp_annotations: { ...annotationsOf(alert), ...summaryOf(alert) },
            },
          ],
        },
        { eval_time: alert.story.after, alertname: nameOf(alert), exp_alerts: [] },
      ],
    })),
  });
}

function summaryOf({ story }: Alert): { readonly summary?: string } {
  return story.summary === undefined ? {} : { summary: story.summary };
}

function nameOf({ name }: Pick<Alert, "name">): string {
  return `Posthorn${name}`;
}

export function runbookPathOf({ runbook }: Pick<Alert, "runbook">): string {
  return `docs/runbooks/${runbook}.md`;
}

function labelsOf({ severity }: Alert): Record<string, string> {
  return { severity };
}

function annotationsOf(alert: Alert): Record<string, string> {
  const { summary, description, requirement } = alert;
  return {
    summary,
    description: requirement === undefined ? description : `${description} (${requirement})`,
    runbook_url: runbookPathOf(alert),
  };
}

function document(content: object): string {
  return `# ${made}\n${stringify(content, { lineWidth: 0 })}`;
}
