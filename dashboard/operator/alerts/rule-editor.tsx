import { type Signal, useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { Sparkline } from "../../shared/charts/bars.tsx";
import type { AlertPreview } from "../../shared/resources.ts";
import { Panel } from "../../shared/ui/panel.tsx";
import { ActionButton } from "../action-button.tsx";

const metrics = [
  ["failure_rate", "share of failed attempts, 0 to 1"],
  ["attempts", "attempts within five minutes"],
  ["exhausted", "new dead letters within five minutes"],
  ["duration_ms_p95", "95th percentile of request duration, in ms"],
  ["published", "events within five minutes"],
  ["waiting", "waiting deliveries"],
  ["dead_letters", "dead letters"],
  ["places_used", "share of request slots in use, 0 to 1"],
] as const;

/** Form for a custom rule, with a preview of how often it would have fired. */
export function RuleEditor() {
  const fields = {
    name: useSignal(""),
    metric: useSignal("failure_rate"),
    comparison: useSignal("above"),
    threshold: useSignal("0.2"),
    minutes: useSignal("5"),
  };
  const preview = useSignal<AlertPreview | null>(null);
  const { name, metric, comparison, threshold, minutes } = fields;
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
        <TextField label="Name (a-z, 0-9, -)" value={name} />
        <Choice label="Metric" value={metric} options={metrics} />
        <Choice
          label="Condition"
          value={comparison}
          options={[
            ["above", "above the threshold"],
            ["below", "below the threshold"],
          ]}
        />
        <TextField label="Threshold" value={threshold} />
        <TextField label="For at least, minutes" value={minutes} />
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
        {preview.value !== null && <Preview preview={preview.value} />}
      </div>
    </Panel>
  );
}

function Preview({ preview }: { readonly preview: AlertPreview }) {
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

/** Reduces the points to a visible number, keeping the largest value of each group. */
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

function TextField({ label, value }: { readonly label: string; readonly value: Signal<string> }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        autocomplete="off"
        value={value.value}
        onInput={({ currentTarget }) => (value.value = currentTarget.value)}
      />
    </div>
  );
}

function Choice({
  label,
  value,
  options,
}: {
  readonly label: string;
  readonly value: Signal<string>;
  readonly options: readonly (readonly [value: string, text: string])[];
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value.value}
        onChange={({ currentTarget }) => (value.value = currentTarget.value)}
      >
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {each.replaceAll("_", " ")}: {text}
          </option>
        ))}
      </select>
    </div>
  );
}
