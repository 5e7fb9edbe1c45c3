import { useAddress } from "../../shared/address.ts";
import { useApi } from "../../shared/queries.ts";
import type { Alert, AlertRule } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { type Column, DataTable } from "../../shared/ui/data-table.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { LinkedFilters } from "../filters/linked-filters.tsx";
import { ResourceList } from "../list-page.tsx";
import { StateChips } from "../state-chips.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { MuteAlert, RuleSwitch } from "./alert-actions.tsx";
import { RuleEditor } from "./rule-editor.tsx";

const states: readonly Alert["state"][] = ["firing", "pending", "resolved"];
const tones: Readonly<Record<Alert["state"], Tone>> = { firing: "bad", pending: "wait", resolved: "good" };

const columns: readonly Column<Alert>[] = [
  {
    title: "Alert",
    cell: (row) => (
      <a href={`${pagePath("alerts")}?rule=${row.rule}&state=firing&state=resolved`} class="row-link">
        {row.title}
      </a>
    ),
  },
  {
    title: "State",
    cell: (row) => (
      <Badge
        tone={row.muted_until === null ? tones[row.state] : "off"}
        text={row.muted_until === null ? row.state : `${row.state}, muted`}
      />
    ),
  },
  { title: "Severity", cell: (row) => row.severity, needs: "medium" },
  { title: "Summary", cell: (row) => row.summary, isProse: true },
  {
    title: "Webhook",
    cell: (row) => (row.webhook_id === null ? "–" : <WebhookLink id={row.webhook_id} url={null} />),
    needs: "wide",
  },
  { title: "Since", cell: (row) => <When at={row.since} />, isFigure: true },
  {
    title: "Resolved",
    cell: (row) => (row.resolved_at === null ? "–" : <When at={row.resolved_at} />),
    isFigure: true,
    needs: "wide",
  },
  { title: "Mute", cell: (row) => <MuteAlert alert={row} />, needs: "medium" },
];

const ruleColumns: readonly Column<AlertRule>[] = [
  { title: "Rule", cell: (row) => row.name },
  { title: "Severity", cell: (row) => row.severity, needs: "medium" },
  { title: "Condition", cell: (row) => row.description || conditionOf(row), isProse: true },
  { title: "Threshold", cell: (row) => row.threshold.toLocaleString(), isFigure: true },
  { title: "State", cell: (row) => <RuleSwitch rule={row} />, needs: "medium" },
];

export function AlertsPage() {
  const { params } = useAddress();
  const chosen = params.has("state") ? params.getAll("state") : ["firing", "pending"];
  return (
    <>
      <h1>Alerts</h1>
      <StateChips states={states} chosen={chosen}>
        <LinkedFilters names={["rule"]} />
      </StateChips>
      <ResourceList<Alert>
        title="Alerts"
        path="v1/alerts"
        query={{ state: chosen, rule: params.get("rule") }}
        cli={shell`alerts list`}
        columns={columns}
        keyOf={({ id }) => id}
        none={<p class="soft">No alerts. The rules below are evaluated every 15 seconds.</p>}
      />
      <Rules />
      <RuleEditor />
    </>
  );
}

function Rules() {
  const loaded = useApi<{ readonly data: readonly AlertRule[] }>({ path: "v1/alert-rules" });
  return (
    <Panel title="Rules" loaded={loaded} twin={{ path: "v1/alert-rules", cli: shell`alert-rules list` }}>
      <DataTable
        caption="Alert rules, built-in rules first"
        columns={ruleColumns}
        rows={loaded.data?.data ?? []}
        keyOf={({ name }) => name}
        hasNoLinks
      />
    </Panel>
  );
}

function conditionOf({ metric, comparison, threshold }: AlertRule): string {
  return `${metric ?? ""} ${comparison} ${threshold}`;
}
