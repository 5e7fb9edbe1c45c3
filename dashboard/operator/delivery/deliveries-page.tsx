import { useId, useMemo } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import type { Query } from "../../shared/api.ts";
import { minute } from "../../shared/clock.ts";
import { isCompact, toggleDensity } from "../../shared/preferences.ts";
import type { Delivery, DeliveryDetail } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import { rangeQuery } from "../../shared/time-range.ts";
import type { Column } from "../../shared/ui/data-table.tsx";
import { CheckBox } from "../../shared/ui/field.tsx";
import { Icon } from "../../shared/ui/icon.tsx";
import { Popover } from "../../shared/ui/modal.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { discardAction, retryDeadLettersAction, targetOf } from "../bulk/bulk-actions.ts";
import { BulkBar, useDeliverySelection } from "../bulk/bulk-bar.tsx";
import { BulkButton } from "../bulk/bulk-dialog.tsx";
import { EventContent } from "../event/event-content.tsx";
import { mayManage } from "../form/action-button.tsx";
import { column } from "../lists/columns.tsx";
import { flagsOf } from "../lists/command-flags.ts";
import { ExportButton } from "../lists/export-button.tsx";
import { Chips, LinkedFilters, TextFilter } from "../lists/filters.tsx";
import { LiveList, pageSize, ResourceList } from "../lists/list-page.tsx";
import { SidePanel } from "../lists/side-panel.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { Attempts } from "./attempts.tsx";
import { Verdict } from "./delivery-page.tsx";
import {
  answerColumn,
  columnsOf,
  deliveryCells,
  deliveryColumns,
  eventTypeColumn,
} from "./delivery-table.tsx";
import { endingOf, statuses, wordsOf } from "./wording.ts";

export function DeliveriesPage() {
  const { params } = useAddress();
  const filters = queryOf(params, minute.value);
  const selection = useDeliverySelection(JSON.stringify(filters));
  return (
    <>
      {useMemo(pageHead, [])}
      <LiveList<Delivery>
        title="Deliveries"
        path="v1/deliveries"
        query={{ ...filters, limit: pageSize, include: "webhook" }}
        cli={shell`deliveries list${flagsOf(filters)}`}
        columns={useMemo(() => columnsOf(params), [params.getAll("columns").join()])}
        none="No matching deliveries."
        tools={
          <>
            <ExportButton
              path="v1/deliveries"
              query={filters}
              fileName="posthorn-deliveries.csv"
              cells={deliveryCells}
            />
            {useMemo(viewMenu, [])}
          </>
        }
        selection={selection}
        panelOf={(id) => <DeliveryPanel id={id} />}
      />
      <BulkBar selection={selection} filters={filters} />
    </>
  );
}

/** Memoized, so that selecting a row does not render it again. */
const pageHead = () => (
  <>
    <PageHead title="Deliveries">
      <RangePicker />
    </PageHead>
    <DeliveryFilters />
  </>
);
const viewMenu = () => <ViewMenu />;

/** URL parameters that are passed to the API unchanged. */
const passedOn = [
  "status",
  "http_status",
  "event_type",
  "error",
  "webhook_id",
  "event_id",
  "tenant_id",
  "idempotency_key",
  "waiting_for",
  "failure_category",
  "origin",
  "attempt_min",
  "order",
] as const;

/** Converts the filters in the URL to an API query. Relative ranges are recomputed each minute. */
function queryOf(params: URLSearchParams, nowMs: number): Query {
  const query: Record<string, readonly string[] | string> = {};
  for (const name of passedOn) {
    const values = params.getAll(name).filter((value) => value !== "");
    if (values.length > 0) query[name] = values;
  }
  return { ...query, ...rangeQuery(params, nowMs) };
}

/** Filters that have a control on the page. The other filters are set by links and table cells. */
const withControl: ReadonlySet<string> = new Set(["status", "http_status", "event_type", "error"]);
const linked = passedOn.filter((name) => !withControl.has(name));

function DeliveryFilters() {
  const { params } = useAddress();
  return (
    <div class="filters">
      <Chips
        name="status"
        legend="State"
        values={statuses}
        chosen={params.getAll("status")}
        textOf={(status) => wordsOf(status).text}
      />
      <div class="fields">
        <TextFilter name="event_type" label="Event type" placeholder="order.*" />
        <TextFilter name="http_status" label="Response" placeholder="422, 5xx, none" />
        <TextFilter name="error" label="Error contains" placeholder="timed out" isOneText />
        <LinkedFilters names={linked} />
      </div>
    </div>
  );
}

/** Column selection and row density. */
function ViewMenu() {
  const { params, set } = useAddress();
  const id = useId();
  const chosen = params.getAll("columns");
  const isShown = (name: string, isUsual: boolean) =>
    chosen.length === 0 ? isUsual : chosen.includes(name) || name === "event_type";
  const toggle = (toggled: string) =>
    set({
      columns: deliveryColumns
        .filter(({ name, isUsual = false }) => isShown(name, isUsual) !== (name === toggled))
        .map(({ name }) => name),
    });
  return (
    <div>
      <button type="button" popovertarget={id} class="quiet view-button">
        <Icon name="columns" /> View
      </button>
      <Popover id={id} label="View">
        {() => (
          <>
            <fieldset class="columns">
              <legend>Columns</legend>
              {deliveryColumns.map(({ name, title, isUsual = false }) => (
                <label key={name}>
                  <input
                    type="checkbox"
                    checked={isShown(name, isUsual)}
                    disabled={name === "event_type"}
                    onChange={() => toggle(name)}
                  />
                  {title}
                </label>
              ))}
            </fieldset>
            <p class="view-end">
              <CheckBox label="Compact rows" isChecked={isCompact.value} onChange={toggleDensity} />
              <button type="button" onClick={() => set({ columns: [] })}>
                Default columns
              </button>
            </p>
          </>
        )}
      </Popover>
    </div>
  );
}

/** Side panel of the list, with enough detail to understand a delivery and act on it. */
function DeliveryPanel({ id }: { readonly id: string }) {
  return (
    <SidePanel<DeliveryDetail> what="Delivery" collection="deliveries" id={id} nameOf={nameOfDelivery}>
      {(delivery) => (
        <>
          <p>
            to <WebhookLink id={delivery.webhook_id} url={null} />
          </p>
          <Verdict delivery={delivery} />
          <Attempts key={id} delivery={delivery} />
          <EventContent id={delivery.event_id} />
        </>
      )}
    </SidePanel>
  );
}

const nameOfDelivery = ({ event_type }: DeliveryDetail): string => event_type ?? "Delivery";

const deadLetterColumns: readonly Column<Delivery>[] = [
  eventTypeColumn,
  answerColumn,
  column.prose("Reason", (row) => endingOf({ status: "exhausted", reason: row.reason }), "medium"),
  column.text("Webhook", (row) => <WebhookLink id={row.webhook_id} url={null} />, "medium"),
  column.figure("Attempts", (row) => row.attempt_count, "medium"),
  column.time("Since", (row) => row.completed_at),
];

const deadLetterActions = [retryDeadLettersAction, discardAction];

export function DeadLettersPage() {
  const { params } = useAddress();
  const range = rangeQuery(params, minute.value);
  const webhookIds = params.getAll("webhook_id");
  const filters = { webhook_id: webhookIds, ...range };
  const selection = useDeliverySelection(JSON.stringify(filters));
  return (
    <>
      <PageHead title="Dead letters">
        <RangePicker />
      </PageHead>
      <div class="fields filters">
        <LinkedFilters names={["webhook_id"]} />
      </div>
      <ResourceList<Delivery>
        title="Dead letters"
        path="v1/dlq"
        query={filters}
        cli={shell`dlq list${flagsOf(filters)}`}
        columns={deadLetterColumns}
        none="No dead letters."
        selection={selection}
        tools={
          <>
            <ExportButton
              path="v1/dlq"
              query={filters}
              fileName="posthorn-dead-letters.csv"
              cells={deliveryCells}
            />
            {mayManage() &&
              deadLetterActions.map((action) => (
                <BulkButton
                  key={action.label}
                  action={action}
                  targetNow={() => targetOf(filters, Date.now())}
                />
              ))}
          </>
        }
      />
      <BulkBar selection={selection} filters={filters} actions={deadLetterActions} />
    </>
  );
}
