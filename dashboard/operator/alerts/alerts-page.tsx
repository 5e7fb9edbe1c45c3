import { useSignal } from "@preact/signals";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { Sparkline } from "../../shared/charts/bars.tsx";
import { useApi } from "../../shared/queries.ts";
import type { Alert, AlertPreview, AlertRule } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { type Column, DataTable } from "../../shared/ui/data-table.tsx";
import { SelectField, TextField } from "../../shared/ui/field.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton } from "../form/action-button.tsx";
import { HoldButton } from "../form/hold-button.tsx";
import { column } from "../lists/columns.tsx";
import { Chips, LinkedFilters } from "../lists/filters.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";

const states: readonly Alert["state"][] = ["firing", "pending", "resolved"];
const tones: Readonly<Record<Alert["state"], Tone>> = { firing: "bad", pending: "wait", resolved: "good" };

const alertColumns: readonly Column<Alert>[] = [
  column.text("Alert", (row) => (
    <a href={`${pagePath("alerts")}?rule=${row.rule}&state=firing&state=resolved`} class="row-link">
      {row.title}
    </a>
  )),
  column.text("State", (row) => (
    <Badge
      tone={row.muted_until === null ? tones[row.state] : "off"}
      text={row.muted_until === null ? row.state : `${row.state}, muted`}
    />
  )),
  column.text("Severity", (row) => row.severity, "medium"),
  column.prose("Summary", (row) => row.summary),
  column.text(
    "Webhook",
    (row) => (row.webhook_id === null ? "–" : <WebhookLink id={row.webhook_id} url={null} />),
    "wide",
  ),
  column.time("Since", (row) => row.since),
  column.figure(
    "Resolved",
    (row) => (row.resolved_at === null ? "–" : <When at={row.resolved_at} />),
    "wide",
  ),
  column.text("Mute", (row) => <MuteAlert alert={row} />, "medium"),
];

const ruleColumns: readonly Column<AlertRule>[] = [
  column.text("Rule", (row) => row.name),
  column.text("Severity", (row) => row.severity, "medium"),
  column.prose("Condition", (row) => row.description || conditionOf(row)),
  column.figure("Threshold", (row) => row.threshold.toLocaleString()),
  column.text("State", (row) => <RuleSwitch rule={row} />, "medium"),
];

export function AlertsPage() {
  const { params } = useAddress();
  const chosen = params.has("state") ? params.getAll("state") : ["firing", "pending"];
  return (
    <>
      <h1>Alerts</h1>
      <div class="filters">
        <Chips name="state" legend="State" values={states} chosen={chosen}>
          <LinkedFilters names={["rule"]} />
        </Chips>
      </div>
      <ResourceList<Alert>
        title="Alerts"
        path="v1/alerts"
        query={{ state: chosen, rule: params.get("rule") }}
        cli={shell`alerts list`}
        columns={alertColumns}
        none="No alerts. The rules below are evaluated every 15 seconds."
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

/** Mutes notifications for a while, even if the alert resolves and fires again. */
function MuteAlert({ alert }: { readonly alert: Alert }) {
  if (alert.state === "resolved") return null;
  return (
    <HoldButton
      label="Mute"
      name={alert.title}
      title="Mute this alert?"
      explanation="Choose when the mute ends. If the alert is still firing then, notifications are sent."
      done="Muted"
      needsEnd
      hold={(hold) => callApi({ method: "POST", path: `v1/alerts/${alert.id}/mute`, body: hold })}
    />
  );
}

/** Enables or disables a rule. Custom rules can be deleted. */
function RuleSwitch({ rule }: { readonly rule: AlertRule }) {
  const path = `v1/alert-rules/${rule.name}`;
  const enabled = !rule.enabled;
  return (
    <div class="actions">
      <ActionButton
        label={`${enabled ? "Enable" : "Disable"} ${rule.name}`}
        run={() => callApi({ method: "PUT", path, body: { enabled } })}
        done={enabled ? "Rule enabled" : "Rule disabled"}
      />
      {!rule.is_default && (
        <ActionButton
          label={`Delete ${rule.name}`}
          run={() => callApi({ method: "DELETE", path })}
          done="Deleted"
        />
      )}
    </div>
  );
}

const metrics = [
  ["failure_rate", "failure rate: share of failed attempts, 0 to 1"],
  ["attempts", "attempts: attempts within five minutes"],
  ["exhausted", "exhausted: new dead letters within five minutes"],
  ["duration_ms_p95", "duration ms p95: 95th percentile of request duration, in ms"],
  ["published", "published: events within five minutes"],
  ["waiting", "waiting: waiting deliveries"],
  ["dead_letters", "dead letters: dead letters"],
  ["request_slots_used", "request slots used: share, 0 to 1"],
] as const;

const comparisons = [
  ["above", "above: above the threshold"],
  ["below", "below: below the threshold"],
] as const;

/** Form for a custom rule, with a preview of how often it would have fired. */
function RuleEditor() {
  const name = useSignal("");
  const metric = useSignal("failure_rate");
  const comparison = useSignal("above");
  const threshold = useSignal("0.2");
  const minutes = useSignal("5");
  const preview = useSignal<AlertPreview | null>(null);
  const body = () => ({
    metric: metric.value,
    comparison: comparison.value,
    threshold: Number(threshold.value),
    for_seconds: Math.round(Number(minutes.value) * 60),
  });
  const look = async () => {
    const path = "v1/alert-rules/preview";
    preview.value = (await callApi<AlertPreview>({ method: "POST", path, body: body() })).value;
  };
  const keep = () => callApi({ method: "PUT", path: `v1/alert-rules/${name.value.trim()}`, body: body() });
  return (
    <Panel title="Custom rule">
      <div class="form">
        <TextField label="Name (a-z, 0-9, -)" value={name} autocomplete="off" />
        <SelectField label="Metric" value={metric} options={metrics} />
        <SelectField label="Condition" value={comparison} options={comparisons} />
        <TextField label="Threshold" value={threshold} autocomplete="off" />
        <TextField label="Minimum duration, minutes" value={minutes} autocomplete="off" />
        <div class="actions">
          <ActionButton label="Preview last 7 days" run={look} done="Preview loaded" />
          <ActionButton
            label="Save"
            isPrimary
            isDisabled={name.value.trim() === ""}
            run={keep}
            done="Rule saved"
          />
        </div>
        {preview.value !== null && <RulePreview preview={preview.value} />}
      </div>
    </Panel>
  );
}

function RulePreview({ preview }: { readonly preview: AlertPreview }) {
  const { fired, firing_seconds: seconds, points } = preview;
  const times = fired === 1 ? "once" : `${fired} times`;
  return (
    <div role="status">
      <p>
        {fired === 0
          ? "This rule would not have fired in the last 7 days."
          : `This rule would have fired ${times} in the last 7 days, for ${Math.round(seconds / 60)} minutes in total.`}
      </p>
      <Sparkline values={hourly(points)} tone={fired === 0 ? "new" : "bad"} />
    </div>
  );
}

const pointsShown = 168;

/** Reduces the points to as many as the chart can show, keeping the largest value of each group. */
function hourly(points: AlertPreview["points"]): readonly (number | null)[] {
  const each = Math.max(1, Math.ceil(points.length / pointsShown));
  return Array.from({ length: Math.ceil(points.length / each) }, (_, at) =>
    points
      .slice(at * each, (at + 1) * each)
      .reduce<number | null>(
        (most, { value }) => (value === null ? most : Math.max(most ?? value, value)),
        null,
      ),
  );
}
