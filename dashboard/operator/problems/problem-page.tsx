import { useRoute } from "preact-iso";
import { useApi } from "../../shared/queries.ts";
import type { Delivery, DeliveryPage, DeliveryProblem } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { mayManage } from "../action-button.tsx";
import { retryDeadLettersAction, targetOf } from "../bulk/bulk-actions.ts";
import { BulkButton } from "../bulk/bulk-button.tsx";
import { DeliveryTable } from "../delivery/delivery-table.tsx";
import { categoryText } from "../delivery/wording.ts";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { headlineOf, ProblemBadge } from "./problem-badge.tsx";
import { MuteButton, NoteForm } from "./problem-actions.tsx";

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
      <Newest problem={data} />
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
function Newest({ problem }: { readonly problem: DeliveryProblem }) {
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
