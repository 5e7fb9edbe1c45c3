import { useSignal } from "@preact/signals";
import { useRoute } from "preact-iso";
import { useId } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { Delivery, DeliveryPage, DeliveryProblem } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { type Column, Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { retryDeadLettersAction, targetOf } from "../bulk/bulk-actions.ts";
import { BulkButton } from "../bulk/bulk-dialog.tsx";
import { DeliveryTable } from "../delivery/delivery-table.tsx";
import { categoryText } from "../delivery/wording.ts";
import { ActionButton, mayManage } from "../form/action-button.tsx";
import { HoldButton } from "../form/hold-button.tsx";
import { LinkedFilters, StateChips } from "../lists/filters.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { headlineOf, ProblemBadge } from "./open-problems.tsx";

const states: readonly DeliveryProblem["state"][] = ["open", "recovering", "muted", "resolved"];
const usualStates: readonly string[] = ["open", "recovering"];

const problemColumns: readonly Column<DeliveryProblem>[] = [
  {
    title: "Problem",
    cell: (row) => (
      <a href={pagePath(`problems/${row.id}`)} class="row-link">
        {headlineOf(row)}
      </a>
    ),
    isProse: true,
  },
  { title: "State", cell: (row) => <ProblemBadge state={row.state} /> },
  { title: "Webhook", cell: (row) => <WebhookLink id={row.webhook_id} url={null} />, needs: "wide" },
  { title: "Failures", cell: (row) => row.count.toLocaleString(), isFigure: true, needs: "medium" },
  { title: "Deliveries", cell: (row) => row.deliveries.toLocaleString(), isFigure: true },
  { title: "Last seen", cell: (row) => <When at={row.last_seen_at} />, isFigure: true, needs: "medium" },
];

export function ProblemsPage() {
  const { params } = useAddress();
  const chosen = params.has("state") ? params.getAll("state") : usualStates;
  const webhookIds = params.getAll("webhook_id");
  return (
    <>
      <h1>Problems</h1>
      <StateChips states={states} chosen={chosen}>
        <LinkedFilters names={["webhook_id"]} />
      </StateChips>
      <ResourceList<DeliveryProblem>
        title="Problems"
        path="v1/problems"
        query={{ state: chosen, webhook_id: webhookIds }}
        cli={null}
        columns={problemColumns}
        keyOf={({ id }) => id}
        none={
          <p class="soft">
            No problems. Similar failures of a webhook are grouped into one problem. It opens with the third
            failure within ten minutes, or with a dead letter.
          </p>
        }
      />
    </>
  );
}

export function ProblemPage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const loaded = useApi<DeliveryProblem>({ path: `v1/problems/${id}` });
  const { data, error } = loaded;
  if (data === null) {
    return <NotLoaded error={error} />;
  }
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("problems")}>Problems</a>
      </p>
      <PageHead title={headlineOf(data)} beside={<ProblemBadge state={data.state} />} />
      <Panel title="What to do" loaded={loaded} twin={{ path: `v1/problems/${id}`, cli: null }}>
        <p class="verdict-text">{data.remedy}</p>
        <ProblemFacts problem={data} />
        {mayManage() && (
          <div class="actions">
            <BulkButton
              action={retryDeadLettersAction}
              targetNow={() => targetOf(filtersOf(data), Date.now())}
              isPrimary
            />
            <MuteButton problem={data} />
          </div>
        )}
      </Panel>
      {mayManage() ? (
        <Panel title="Note">
          <NoteForm key={data.note} problem={data} />
        </Panel>
      ) : (
        data.note !== null && (
          <Panel title="Note">
            <p>{data.note}</p>
          </Panel>
        )
      )}
      <AffectedDeliveries problem={data} />
    </div>
  );
}

/** Filter for deliveries with this failure. */
function filtersOf({ webhook_id, failure_category, http_status }: DeliveryProblem) {
  return {
    webhook_id: [webhook_id],
    ...(failure_category !== null && { failure_category: [failure_category] }),
    ...(http_status !== null && { http_status: [String(http_status)] }),
  };
}

function ProblemFacts({ problem }: { readonly problem: DeliveryProblem }) {
  const { answer, failure_category: category, error_code: code, mute_reason: reason } = problem;
  return (
    <Facts
      rows={[
        ["Webhook", <WebhookLink key="webhook" id={problem.webhook_id} url={null} />],
        ["Failed attempts", problem.count.toLocaleString()],
        ["Deliveries", problem.deliveries.toLocaleString()],
        ["First seen", <When key="first" at={problem.first_seen_at} />],
        ["Last seen", <When key="last" at={problem.last_seen_at} />],
        ...(problem.resolved_at === null
          ? []
          : [["Resolved", <When key="resolved" at={problem.resolved_at} />] as const]),
        [
          "Failure",
          [categoryText(category), problem.http_status, code].filter(Boolean).join(", ") || "several",
        ],
        ["Response", answer === null ? "–" : <code key="answer">{answer}</code>],
        ...(problem.state === "muted"
          ? [
              [
                "Muted until",
                problem.muted_until === null ? (
                  "unmuted manually"
                ) : (
                  <When key="mute" at={problem.muted_until} isExact />
                ),
              ] as const,
            ]
          : []),
        ...(reason === null ? [] : [["Mute reason", reason] as const]),
      ]}
    />
  );
}

/** Newest deliveries with this failure, in their current state. */
function AffectedDeliveries({ problem }: { readonly problem: DeliveryProblem }) {
  const filters = filtersOf(problem);
  const query = { ...filters, limit: 10 };
  const loaded = useApi<DeliveryPage>({ path: "v1/deliveries", query });
  const rows: readonly Delivery[] = loaded.data?.data ?? [];
  const all = new URLSearchParams(Object.entries(filters).map(([name, [value = ""]]) => [name, value]));
  return (
    <Panel
      title="Affected deliveries"
      loaded={loaded}
      tools={<a href={`${pagePath("deliveries")}?${all.toString()}`}>All affected deliveries</a>}
      twin={{ path: "v1/deliveries", query, cli: shell`deliveries list --webhook ${problem.webhook_id}` }}
    >
      {rows.length === 0 ? (
        <p class="soft">No stored delivery currently has this failure.</p>
      ) : (
        <DeliveryTable caption="Affected deliveries, newest first" rows={rows} withoutWebhook />
      )}
    </Panel>
  );
}

function changeProblem(id: string, body: object): Promise<unknown> {
  return callApi({ method: "PATCH", path: `v1/problems/${id}`, body });
}

/** Mutes a problem. It leaves the overview but is still counted. */
function MuteButton({ problem }: { readonly problem: DeliveryProblem }) {
  if (problem.state === "resolved") return null;
  if (problem.state === "muted") {
    return (
      <ActionButton label="Unmute" run={() => changeProblem(problem.id, { muted: false })} done="Unmuted" />
    );
  }
  return (
    <HoldButton
      label="Mute"
      title="Mute this problem?"
      explanation="A muted problem is still counted, but is not shown on the overview."
      done="Muted"
      hold={({ until, reason }) =>
        changeProblem(problem.id, { muted: true, muted_until: until, mute_reason: reason })
      }
    />
  );
}

function NoteForm({ problem }: { readonly problem: DeliveryProblem }) {
  const note = useSignal(problem.note ?? "");
  const id = useId();
  const isSame = note.value.trim() === (problem.note ?? "");
  return (
    <div class="form">
      <div class="field">
        <label for={id}>Note for your team, such as a ticket or a contact</label>
        <textarea
          id={id}
          rows={3}
          maxLength={2_000}
          value={note.value}
          onInput={({ currentTarget }) => (note.value = currentTarget.value)}
        />
      </div>
      <p>
        <ActionButton
          label="Save note"
          isDisabled={isSame}
          run={() => changeProblem(problem.id, { note: note.value.trim() === "" ? null : note.value.trim() })}
          done="Note saved"
        />
      </p>
    </div>
  );
}
