import { useAddress } from "../../shared/address.ts";
import { useApi } from "../../shared/queries.ts";
import type { Page, RevisionEntry, TimelineEntry } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { type Column, DataTable } from "../../shared/ui/data-table.tsx";
import { Field } from "../../shared/ui/field.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { When } from "../../shared/ui/when.tsx";
import { column } from "../lists/columns.tsx";
import { ResourceList, Rows } from "../lists/list-page.tsx";
import { byText, differencesOf, type FieldDifference, valueText } from "./history-wording.ts";

const changeKinds: Readonly<Record<TimelineEntry["kind"], { readonly tone: Tone; readonly text: string }>> = {
  created: { tone: "new", text: "created" },
  changed: { tone: "new", text: "changed" },
  secret_rotated: { tone: "new", text: "secret rotated" },
  paused: { tone: "held", text: "paused" },
  resumed: { tone: "good", text: "resumed" },
  enabled: { tone: "good", text: "enabled" },
  disabled: { tone: "off", text: "disabled" },
  suspended: { tone: "bad", text: "suspended" },
  verified: { tone: "good", text: "verified" },
  unverified: { tone: "wait", text: "verification requested" },
  circuit_opened: { tone: "bad", text: "circuit opened" },
  circuit_closed: { tone: "good", text: "circuit closed" },
};

function timelineColumns(id: string): readonly Column<TimelineEntry>[] {
  return [
    column.text("Change", (row) => <Badge {...changeKinds[row.kind]} />),
    column.text("When", ({ at }) => <When at={at} />),
    column.text("Who", byText),
    column.prose("Reason", ({ reason }) => reason ?? "–", "medium"),
    column.prose("Changed fields", ({ changed }) => changed.join(", ") || "–", "medium"),
    column.figure("Revision", ({ revision }) =>
      revision === null ? "–" : <a href={revisionPath(id, revision)}>{revision}</a>,
    ),
  ];
}

/** Page that shows the changes of a revision. */
export function revisionPath(id: string, revision: number): string {
  return `${pagePath(`webhooks/${id}`)}?tab=revisions&revision=${revision}`;
}

export function WebhookTimeline({ id }: { readonly id: string }) {
  return (
    <ResourceList<TimelineEntry>
      title="Timeline"
      path={`v1/webhooks/${id}/timeline`}
      cli={shell`webhooks timeline ${id}`}
      columns={timelineColumns(id)}
      keyOf={({ at, kind, revision }) => `${at} ${kind} ${revision ?? ""}`}
      hasNoLinks
      none="No entries yet."
    />
  );
}

/** Revisions kept per webhook. */
const revisionsMax = 100;

/** Configuration history of a webhook, with a comparison of two revisions. */
export function Revisions({ id }: { readonly id: string }) {
  const query = { limit: revisionsMax };
  const path = `v1/webhooks/${id}/revisions`;
  const loaded = useApi<Page<RevisionEntry>>({ path, query });
  const rows = loaded.data?.data ?? [];
  return (
    <>
      {rows.length > 0 && <Comparison rows={rows} />}
      <Panel title="Revisions" loaded={loaded} twin={{ path, query, cli: shell`webhooks revisions ${id}` }}>
        <DataTable
          caption="Revisions, newest first"
          columns={revisionColumns(id)}
          rows={rows}
          keyOf={({ revision }) => String(revision)}
        />
      </Panel>
    </>
  );
}

function revisionColumns(id: string): readonly Column<RevisionEntry>[] {
  return [
    column.text("Revision", ({ revision }) => (
      <a href={revisionPath(id, revision)} class="row-link">
        {revision}
      </a>
    )),
    column.text("When", ({ at }) => <When at={at} />),
    column.text("Who", byText),
    column.prose("Changed", ({ changes }) => Object.keys(changes).join(", ")),
  ];
}

const differenceColumns: readonly Column<FieldDifference>[] = [
  column.text("Field", ({ field }) => field),
  column.prose("Before", ({ before }) => <Value value={before} />),
  column.prose("After", ({ after }) => <Value value={after} />),
];

function Value({ value }: { readonly value: unknown }) {
  return value === undefined ? <>–</> : <code class="revision-value">{valueText(value)}</code>;
}

/** Compares the two revisions in the URL. Defaults to the newest revision and the one before it. */
function Comparison({ rows }: { readonly rows: readonly RevisionEntry[] }) {
  const { params, set } = useAddress();
  const numbers = rows.map(({ revision }) => revision);
  const newest = numbers[0] ?? 1;
  const named = (name: string): number | null => {
    const number = Number(params.get(name));
    return Number.isSafeInteger(number) && number > 0 ? number : null;
  };
  const to = Math.min(newest, named("revision") ?? newest);
  const from = Math.min(to - 1, named("against") ?? to - 1);
  const entry = rows.find(({ revision }) => revision === to);
  const oldest = numbers.at(-1) ?? 1;
  const differences = differencesOf(rows, { from, to });
  const later = numbers.filter((revision) => revision > from);
  const earlier = [...numbers.filter((revision) => revision < to), oldest - 1].filter((one) => one < to);
  return (
    <Panel title={from === 0 ? "The first revision" : `From revision ${from} to ${to}`}>
      <div class="columns-2">
        <RevisionField
          label="From"
          options={earlier}
          chosen={from}
          choose={(revision) => set({ against: [String(revision)], revision: [String(to)] })}
        />
        <RevisionField
          label="To"
          options={later}
          chosen={to}
          choose={(revision) => set({ revision: [String(revision)], against: [String(from)] })}
        />
      </div>
      {entry === undefined ? (
        <p class="soft">Revision {to} is no longer stored.</p>
      ) : (
        <p>
          Revision {to} was created by {byText(entry)} <When at={entry.at} isExact />.
        </p>
      )}
      <Rows
        caption={`Differences between revisions ${from} and ${to}`}
        columns={differenceColumns}
        rows={differences}
        keyOf={({ field }) => field}
        hasNoLinks
        none="No differences."
      />
    </Panel>
  );
}

function RevisionField(props: {
  readonly label: string;
  readonly options: readonly number[];
  readonly chosen: number;
  readonly choose: (revision: number) => void;
}) {
  const { label, options, chosen, choose } = props;
  return (
    <Field label={label}>
      {(control) => (
        <select
          {...control}
          value={String(chosen)}
          onChange={({ currentTarget }) => choose(Number(currentTarget.value))}
        >
          {options.map((revision) => (
            <option key={revision} value={String(revision)}>
              {revision === 0 ? "nothing" : `revision ${revision}`}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
