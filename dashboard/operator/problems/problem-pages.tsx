import { useSignal } from "@preact/signals";
import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { Delivery, DeliveryProblem } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { type Column, Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { TextAreaField } from "../../shared/ui/field.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { retryDeadLettersAction, targetOf } from "../bulk/bulk-actions.ts";
import { BulkButton } from "../bulk/bulk-dialog.tsx";
import { columnsOfWebhook } from "../delivery/delivery-table.tsx";
import { categoryText } from "../delivery/wording.ts";
import { ActionButton, mayManage } from "../form/action-button.tsx";
import { HoldButton } from "../form/hold-button.tsx";
import { column } from "../lists/columns.tsx";
import { Chips, LinkedFilters } from "../lists/filters.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { DetailPage, useRouteId } from "../shell/detail-page.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { headlineOf, ProblemBadge } from "./open-problems.tsx";

const states: readonly DeliveryProblem["state"][] = ["open", "recovering", "muted", "resolved"];
const usualStates: readonly string[] = ["open", "recovering"];

const problemColumns: readonly Column<DeliveryProblem>[] = [
  column.prose("Problem", (row) => (
    <a href={pagePath(`problems/${row.id}`)} class="row-link">
      {headlineOf(row)}
    </a>
  )),
  column.text("State", (row) => <ProblemBadge state={row.state} />),
  column.text("Webhook", (row) => <WebhookLink id={row.webhook_id} url={null} />, "wide"),
  column.figure("Failures", (row) => row.count.toLocaleString(), "medium"),
  column.figure("Deliveries", (row) => row.deliveries.toLocaleString()),
  column.time("Last seen", (row) => row.last_seen_at, "medium"),
];

export function ProblemsPage() {
  const { params } = useAddress();
  const chosen = params.has("state") ? params.getAll("state") : usualStates;
  const webhookIds = params.getAll("webhook_id");
  return (
    <>
      <h1>Problems</h1>
      <div class="filters">
        <Chips name="state" legend="State" values={states} chosen={chosen}>
          <LinkedFilters names={["webhook_id"]} />
        </Chips>
      </div>
      <ResourceList<DeliveryProblem>
        title="Problems"
        path="v1/problems"
        query={{ state: chosen, webhook_id: webhookIds }}
        cli={null}
        columns={problemColumns}
        none="No problems. Similar failures of a webhook are grouped into one problem. It opens with the third failure within ten minutes, or with a dead letter."
      />
    </>
  );
}

export function ProblemPage() {
  const id = useRouteId();
  const loaded = useApi<DeliveryProblem>({ path: `v1/problems/${id}` });
  const { data, error } = loaded;
  if (data === null) return <NotLoaded error={error} />;
  return (
    <DetailPage id={id} list="problems" title="Problems">
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
      {(mayManage() || data.note !== null) && (
        <Panel title="Note">
          {mayManage() ? <NoteForm key={data.note} problem={data} /> : <p>{data.note}</p>}
        </Panel>
      )}
      <AffectedDeliveries problem={data} />
    </DetailPage>
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
  const { answer, failure_category: category, error_code: code } = problem;
  const { mute_reason: reason, muted_until: mutedUntil } = problem;
  return (
    <Facts
      rows={[
        ["Webhook", <WebhookLink id={problem.webhook_id} url={null} />],
        ["Failed attempts", problem.count.toLocaleString()],
        ["Deliveries", problem.deliveries.toLocaleString()],
        ["First seen", <When at={problem.first_seen_at} />],
        ["Last seen", <When at={problem.last_seen_at} />],
        problem.resolved_at !== null && ["Resolved", <When at={problem.resolved_at} />],
        [
          "Failure",
          [categoryText(category), problem.http_status, code].filter(Boolean).join(", ") || "several",
        ],
        ["Response", answer === null ? "–" : <code>{answer}</code>],
        problem.state === "muted" && [
          "Muted until",
          mutedUntil === null ? "unmuted manually" : <When at={mutedUntil} isExact />,
        ],
        reason !== null && ["Mute reason", reason],
      ]}
    />
  );
}

/** Newest deliveries with this failure, in their current state. */
function AffectedDeliveries({ problem }: { readonly problem: DeliveryProblem }) {
  const filters = filtersOf(problem);
  const all = new URLSearchParams(Object.entries(filters).map(([name, [value = ""]]) => [name, value]));
  return (
    <ResourceList<Delivery>
      title="Affected deliveries"
      caption="Affected deliveries, newest first"
      path="v1/deliveries"
      query={{ ...filters, limit: 10 }}
      cli={shell`deliveries list --webhook ${problem.webhook_id}`}
      columns={columnsOfWebhook}
      none="No stored delivery currently has this failure."
      tools={<a href={`${pagePath("deliveries")}?${all.toString()}`}>All affected deliveries</a>}
      isExcerpt
    />
  );
}

function changeProblem(id: string, body: object): Promise<unknown> {
  return callApi({ method: "PATCH", path: `v1/problems/${id}`, body });
}

/** Mutes a problem. A muted problem is not shown on the overview, but is still counted. */
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
  const text = note.value.trim();
  return (
    <div class="form">
      <TextAreaField
        label="Note for your team, such as a ticket or a contact"
        value={note}
        rows={3}
        maxLength={2_000}
      />
      <p>
        <ActionButton
          label="Save note"
          isDisabled={text === (problem.note ?? "")}
          run={() => changeProblem(problem.id, { note: text === "" ? null : text })}
          done="Note saved"
        />
      </p>
    </div>
  );
}
