import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { callApi } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { Operation } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { type Column, Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import type { Tone } from "../../shared/ui/tone.ts";
import { When } from "../../shared/ui/when.tsx";
import { ActionButton, ConfirmButton, mayManage } from "../form/action-button.tsx";
import { column } from "../lists/columns.tsx";
import { ResourceList } from "../lists/list-page.tsx";
import { DetailPage, IdText, TimePhrase, useRouteId } from "../shell/detail-page.tsx";
import {
  countText,
  deliveriesText,
  exclusionsOf,
  filterTexts,
  isOver,
  kindText,
  progressText,
} from "./operation-wording.ts";

const operationColumns: readonly Column<Operation>[] = [
  {
    title: "Operation",
    cell: (row) => <a href={pagePath(`operations/${row.id}`)}>{kindText(row.kind)}</a>,
    value: (row) => ({ text: row.id }),
  },
  column.text("State", (row) => <OperationBadge status={row.status} />),
  column.figure("Done", progressText),
  column.figure("Failed", (row) => countText(row.failed), "medium"),
  column.figure("Per second", (row) => row.rate_per_second?.toFixed(1) ?? "–", "medium"),
  column.time("Finished", (row) => row.finished_at ?? row.eta_at),
  column.time("Started", (row) => row.created_at, "medium"),
];

export function OperationsPage() {
  return (
    <>
      <PageHead title="Operations" />
      <ResourceList<Operation>
        title="Operations"
        path="v1/operations"
        cli={shell`operations list`}
        columns={operationColumns}
        none={
          <p class="soft">
            No operations yet. Bulk retries and cancellations of{" "}
            <a href={pagePath("deliveries")}>deliveries</a> or{" "}
            <a href={pagePath("dead-letters")}>dead letters</a>, and recoveries of webhooks are shown here.
          </p>
        }
      />
    </>
  );
}

const tones: Readonly<Record<Operation["status"], Tone>> = {
  pending: "new",
  running: "wait",
  paused: "held",
  completed: "good",
  cancelled: "off",
  failed: "bad",
};

function OperationBadge({ status }: Pick<Operation, "status">) {
  return <Badge tone={tones[status]} text={status} />;
}

export function OperationPage() {
  const id = useRouteId();
  const path = `v1/operations/${id}`;
  const loaded = useApi<Operation>({ path });
  const { data, error } = loaded;
  if (data === null) return <NotLoaded error={error} />;
  const twin = { path, cli: shell`operations show ${id}` };
  return (
    <DetailPage id={id} list="operations" title="Operations">
      <h1>
        {kindText(data.kind)} <OperationBadge status={data.status} />
      </h1>
      <Panel title="Progress" loaded={loaded} twin={twin}>
        <Progress operation={data} />
        {mayManage() && !isOver(data) && <OperationActions operation={data} />}
      </Panel>
      <SkippedDeliveries operation={data} />
      <LastErrors operation={data} />
      <AboutOperation operation={data} />
    </DetailPage>
  );
}

function Progress({ operation }: { readonly operation: Operation }) {
  const { done, total, rate_per_second, requests_per_second, eta_at } = operation;
  const text = progressText(operation);
  return (
    <>
      <progress aria-label="Progress" max={Math.max(1, total)} value={total === 0 ? 1 : done}>
        {text}
      </progress>
      <p>
        <strong>{text}</strong>
        {rate_per_second !== null && `, ${rate_per_second.toFixed(1)} per second`}
        {!isOver(operation) && <TimePhrase before=", done " at={eta_at} />}
      </p>
      <Facts rows={[...outcomeRows(operation), ["Rate limit", `${requests_per_second} per second`]]} />
    </>
  );
}

/** Delivery counts by result. Waiting deliveries do not count as done. */
function outcomeRows({ queued, delivered, failed, waiting, skipped }: Operation): [string, string][] {
  const left = Object.values(skipped).reduce((sum, count) => sum + count, 0);
  const untouched: [string, string] = ["Skipped", countText(left)];
  if (delivered === null || waiting === null)
    return [["Done", countText(queued)], ["Failed", countText(failed)], untouched];
  return [
    ["Delivered", countText(delivered)],
    ["Failed", countText(failed)],
    ["Waiting", countText(waiting)],
    untouched,
  ];
}

function SkippedDeliveries({ operation }: { readonly operation: Operation }) {
  const reasons = exclusionsOf(operation.skipped);
  if (reasons.length === 0) return null;
  return (
    <Panel title="Skipped">
      <ul class="samples">
        {reasons.map(({ count, text }) => (
          <li key={text}>
            {deliveriesText(count)}: {text}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function LastErrors({ operation }: { readonly operation: Operation }) {
  const { last_errors: errors } = operation;
  if (errors.length === 0) return null;
  return (
    <Panel title="Last errors">
      <ul class="samples">
        {errors.map(({ delivery_id, message, at }) => (
          <li key={`${at}${delivery_id ?? ""}`}>
            <When at={at} isExact />:{" "}
            {delivery_id !== null && <a href={pagePath(`deliveries/${delivery_id}`)}>a delivery</a>} {message}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function AboutOperation({ operation }: { readonly operation: Operation }) {
  const { id, filter, tenant_id, priority } = operation;
  const parts = filterTexts(filter);
  return (
    <Panel title="About this operation">
      <Facts
        rows={[
          ["Operation", <IdText id={id} />],
          ["Filter", parts.length === 0 ? "all deliveries" : parts.join("; ")],
          ["Tenant", tenant_id ?? "all"],
          ["Priority", priority ?? "unchanged"],
          ["Started", <When at={operation.created_at} isExact />],
          ["Last updated", <When at={operation.updated_at} isExact />],
          ["Ended", <When at={operation.finished_at} isExact />],
        ]}
      />
    </Panel>
  );
}

function OperationActions({ operation }: { readonly operation: Operation }) {
  const path = `v1/operations/${operation.id}`;
  const change = (body: object) => callApi({ method: "PATCH", path, body });
  return (
    <div class="actions">
      {operation.status === "paused" ? (
        <ActionButton
          label="Resume"
          isPrimary
          run={() => change({ status: "running" })}
          done="Operation resumed"
        />
      ) : (
        <ActionButton label="Pause" run={() => change({ status: "paused" })} done="Operation paused" />
      )}
      <RateForm key={operation.requests_per_second} operation={operation} change={change} />
      <ConfirmButton
        label="Cancel"
        title="Cancel this operation?"
        action="Cancel operation"
        run={async (close) => {
          await callApi({ method: "DELETE", path });
          close();
        }}
        done="Cancelled"
      >
        Completed work is not undone. Deliveries that were already queued are still sent.
      </ConfirmButton>
    </div>
  );
}

function RateForm(props: {
  readonly operation: Operation;
  readonly change: (body: object) => Promise<unknown>;
}) {
  const rate = useSignal(props.operation.requests_per_second);
  const id = useId();
  return (
    <>
      <label for={id}>Deliveries per second</label>
      <input
        id={id}
        class="rate"
        type="number"
        min="0.1"
        step="any"
        value={rate.value}
        onInput={({ currentTarget }) => (rate.value = currentTarget.valueAsNumber)}
      />
      <ActionButton
        label="Change rate"
        run={() => props.change({ rate_limit: { requests_per_second: rate.value } })}
        done="Rate changed"
      />
    </>
  );
}
