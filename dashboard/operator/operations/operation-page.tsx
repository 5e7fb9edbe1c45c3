import { useRoute } from "preact-iso";
import { useApi } from "../../shared/queries.ts";
import type { Operation } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { mayManage } from "../action-button.tsx";
import { OperationBadge } from "./operation-badge.tsx";
import { OperationActions } from "./operation-actions.tsx";
import {
  countText,
  deliveriesText,
  exclusionsOf,
  filterTexts,
  isOver,
  kindText,
  progressText,
} from "./operation-wording.ts";

export function OperationPage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const path = `v1/operations/${id}`;
  const loaded = useApi<Operation>({ path });
  const { data, error } = loaded;
  if (data === null) return <NotLoaded error={error} />;
  const twin = { path, cli: shell`operations show ${id}` };
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("operations")}>Operations</a>
      </p>
      <h1>
        {kindText(data.kind)} <OperationBadge status={data.status} />
      </h1>
      <Panel title="Progress" loaded={loaded} twin={twin}>
        <Progress operation={data} />
        {mayManage() && !isOver(data) && <OperationActions operation={data} />}
      </Panel>
      <LeftAlone operation={data} />
      <LastErrors operation={data} />
      <About operation={data} />
    </div>
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
        {eta_at !== null && !isOver(operation) && (
          <>
            , done <When at={eta_at} />
          </>
        )}
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

function LeftAlone({ operation }: { readonly operation: Operation }) {
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

function About({ operation }: { readonly operation: Operation }) {
  const { id, filter, tenant_id, priority } = operation;
  const parts = filterTexts(filter);
  return (
    <Panel title="About this operation">
      <Facts
        rows={[
          [
            "Operation",
            <>
              <code>{id}</code> <CopyButton text={id} label="Copy id" />
            </>,
          ],
          ["Filter", parts.length === 0 ? "all deliveries" : parts.join("; ")],
          ["Tenant", tenant_id ?? "all"],
          ["Priority", priority ?? "unchanged"],
          ["Started", <When key="begun" at={operation.created_at} isExact />],
          ["Last progress", <When key="progress" at={operation.updated_at} isExact />],
          ["Ended", <When key="ended" at={operation.finished_at} isExact />],
        ]}
      />
    </Panel>
  );
}
