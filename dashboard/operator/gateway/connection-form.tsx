import { useSignal } from "@preact/signals";
import { callApi } from "../../shared/api.ts";
import { useBusy } from "../../shared/queries.ts";
import type { EvaluatedRequest, FilterEvaluation, FilterTraceStep } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { type Column, DataTable } from "../../shared/ui/data-table.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { When } from "../../shared/ui/when.tsx";
import { bodyOf, type FormField, type FormProblem, seldom } from "../form/form-fields.ts";
import { ResourceForm, type ResourceFormProps } from "../form/resource-form.tsx";
import { column } from "../lists/columns.tsx";
import { conditionInWords, countInWords, verdictInWords } from "./wording.ts";

const filterField: FormField = {
  name: "filter",
  label: "Filter (JSON)",
  kind: "json",
  hint: "If empty, all messages pass.",
  whenEmpty: null,
};

export const connectionFields: readonly FormField[] = [
  { name: "name", label: "Name", kind: "line", hint: "Shown in lists." },
  {
    name: "required",
    label: "Required: in pass-through, report success to the sender only if this webhook accepted",
    kind: "flag",
  },
  filterField,
  ...seldom([
    {
      name: "delay_ms",
      label: "Delay, ms",
      kind: "number",
      hint: "Store and forward only. In pass-through the sender waits for the response.",
    },
    {
      name: "deduplicate",
      label: "Deduplication (JSON)",
      kind: "json",
      hint: 'For senders without message IDs. For example {"window_ms": 600000, "exclude_fields": ["/sent_at"]}.',
      whenEmpty: null,
    },
    {
      name: "retry_delays_ms",
      label: "Retry delays, ms (JSON)",
      kind: "json",
      hint: "Store and forward only. Replaces the webhook's schedule. For example [5000, 60000].",
      whenEmpty: null,
    },
    {
      name: "allow_chain",
      label: "Allow forwarding to an address of this deployment",
      kind: "flag",
    },
  ]),
];

/** Example filters with descriptions. */
const filterExamples: readonly (readonly [string, object])[] = [
  ["Opened or closed pull requests", { body: { action: { $in: ["opened", "closed"] } } }],
  ["One event type, by header", { headers: { "x-github-event": "push" } }],
  ["Orders of 100 or more", { body: { total: { $gte: 100 } } }],
  [
    "Either of two conditions",
    { $or: [{ body: { type: "order.paid" } }, { body: { type: { $startsWith: "refund." } } }] },
  ],
];

interface ConnectionFormProps
  extends Pick<ResourceFormProps, "before" | "isNew" | "label" | "send" | "lead" | "problemsOfParts"> {
  /** Source whose requests the filter is tested on. Empty while no source is selected. */
  readonly sourceId: string;
}

/** Form for a connection. `lead` contains the choice of source and webhook for a new connection. */
export function ConnectionForm({ sourceId, ...props }: ConnectionFormProps) {
  return (
    <ResourceForm
      {...props}
      fields={connectionFields}
      seldom="Delay, deduplication, retries"
      middle={({ typed, type, submit }) => (
        <>
          <FilterExamples
            choose={(filter) => type({ [filterField.name]: JSON.stringify(filter, null, 2) })}
          />
          <FilterTrial
            sourceId={sourceId}
            text={typed[filterField.name] ?? ""}
            attempt={(look) => {
              const { body, problems } = bodyOf([filterField], typed, {});
              const wrong = [...missingSource(sourceId), ...problems];
              return submit({ body, problems: wrong }, ({ filter }) => look(filter ?? {}));
            }}
          />
        </>
      )}
    />
  );
}

function missingSource(sourceId: string): readonly FormProblem[] {
  return sourceId === "" ? [{ field: "source_id", message: "is required" }] : [];
}

/** Copies an example into the field for editing. */
function FilterExamples({ choose }: { readonly choose: (filter: object) => void }) {
  return (
    <details>
      <summary>Filter examples</summary>
      <p class="soft">
        A filter can test <code>body</code>, <code>headers</code>, <code>query</code> and <code>path</code>,
        with <code>$eq $neq $in $nin $gt $gte $lt $lte $startsWith $endsWith $exist $and $or $not</code>. The
        request log lists filtered messages with the rule that excluded them.
      </p>
      <ul class="examples">
        {filterExamples.map(([what, filter]) => (
          <li key={what}>
            <button type="button" onClick={() => choose(filter)}>
              {what}
            </button>{" "}
            <code>{JSON.stringify(filter)}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}

interface FilterTrialProps {
  readonly sourceId: string;
  /** Current text of the filter. Results that belong to a different text are hidden. */
  readonly text: string;
  /** Runs the trial with the parsed filter, or shows its problem at the field. */
  readonly attempt: (look: (filter: unknown) => Promise<void>) => Promise<void>;
}

interface Trial {
  readonly sourceId: string;
  readonly text: string;
  readonly filter: unknown;
  readonly found: FilterEvaluation;
}

function evaluate(body: object): Promise<FilterEvaluation> {
  return callApi<FilterEvaluation>({ method: "POST", path: "v1/filters/evaluate", body }).then(
    ({ value }) => value,
  );
}

/** Tests an unsaved filter on recent requests. */
export function FilterTrial({ sourceId, text, attempt }: FilterTrialProps) {
  const trial = useSignal<Trial | null>(null);
  const isBusy = useSignal(false);
  const look = async (filter: unknown) => {
    const found = await evaluate({ filter, source_id: sourceId });
    trial.value = { sourceId, text, filter, found };
  };
  const run = async () => {
    trial.value = null;
    isBusy.value = true;
    await attempt(look).finally(() => (isBusy.value = false));
  };
  const known = trial.value;
  const current = known?.text === text && known.sourceId === sourceId ? known : null;
  return (
    <div class="form">
      <div class="actions">
        <button type="button" disabled={isBusy.value} onClick={() => void run()}>
          Test on recent requests
        </button>
      </div>
      <p role="status">{current !== null && countInWords(current.found)}</p>
      {current !== null && <Samples key={text} trial={current} />}
    </div>
  );
}

interface Sample extends EvaluatedRequest {
  readonly kind: keyof NonNullable<FilterEvaluation["samples"]>;
}

const kinds: Readonly<Record<Sample["kind"], { readonly tone: Tone; readonly text: string }>> = {
  matched: { tone: "good", text: "forwarded" },
  not_matched: { tone: "off", text: "filtered out" },
  not_examined: { tone: "held", text: "unknown" },
};

function Samples({ trial: { filter, found } }: { readonly trial: Trial }) {
  const explained = useSignal<ExplainedProps | null>(null);
  const { isBusy, error, run } = useBusy();
  const explain = (row: Sample) =>
    run(async () => {
      const evaluation = await evaluate({ filter, request_id: row.request_id });
      explained.value = { row, evaluation };
    });
  const rows = (Object.keys(kinds) as readonly Sample["kind"][]).flatMap((kind) =>
    (found.samples?.[kind] ?? []).map((one): Sample => Object.assign({ kind }, one)),
  );
  const { complete = true, searched_to: searchedTo = null } = found;
  return (
    <>
      {!complete && (
        <p class="soft">
          The search reached its time limit. It covers requests since <When at={searchedTo} isExact />.
        </p>
      )}
      {rows.length > 0 && (
        <DataTable
          caption="Sample of the tested requests"
          columns={[requestColumn, whyColumn(explain, isBusy.value), ...resultColumns]}
          rows={rows}
          keyOf={({ request_id: id }) => id}
        />
      )}
      {error.value !== null && <ErrorNote error={error.value} />}
      <div role="status">{explained.value !== null && <Explained {...explained.value} />}</div>
    </>
  );
}

const requestColumn: Column<Sample> = {
  title: "Request",
  cell: (row) => (
    <a href={pagePath(`requests/${row.request_id}`)} class="row-link">
      {nameOf(row)}
    </a>
  ),
};

const resultColumns: readonly Column<Sample>[] = [
  column.prose("Result", ({ kind, rule }) => (
    <>
      <Badge {...kinds[kind]} />
      {rule !== null && (
        <>
          {" "}
          by <code>{rule}</code>
        </>
      )}
    </>
  )),
  column.time("When", (row) => row.received_at),
];

/** Placed second, where it stays visible in narrow windows. */
function whyColumn(explain: (row: Sample) => Promise<void>, isBusy: boolean): Column<Sample> {
  return {
    title: "Why",
    cell: (row) => (
      <button
        type="button"
        disabled={isBusy}
        aria-label={`Why: ${nameOf(row)}, ${kinds[row.kind].text}`}
        onClick={() => void explain(row)}
      >
        Why
      </button>
    ),
  };
}

function nameOf({ original_type: original, event_type: type }: EvaluatedRequest): string {
  return original ?? type ?? "request";
}

interface ExplainedProps {
  readonly row: Sample;
  readonly evaluation: FilterEvaluation;
}

/** Shows how each condition was evaluated for a message. */
function Explained({ row, evaluation }: ExplainedProps) {
  const { trace = [] } = evaluation;
  return (
    <section aria-label={`Why: ${nameOf(row)}`}>
      <p class="verdict-text">
        {nameOf(row)}, <When at={row.received_at} />: {verdictInWords(evaluation)}
      </p>
      <ul class="conditions">
        {trace.map((step) => (
          <li key={step.path}>
            <Badge {...resultOf(step)} /> <code>{step.path}</code> {conditionInWords(step)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function resultOf({ result }: FilterTraceStep): { readonly tone: Tone; readonly text: string } {
  if (result === null) return { tone: "held", text: "unknown" };
  return result ? { tone: "good", text: "true" } : { tone: "bad", text: "false" };
}
