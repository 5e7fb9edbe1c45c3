import { useSignal } from "@preact/signals";
import { useEffect, useId, useMemo } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { ApiError, callApi, type Query } from "../../shared/api.ts";
import { minute } from "../../shared/clock.ts";
import { isCompact, toggleDensity } from "../../shared/preferences.ts";
import { useApi } from "../../shared/queries.ts";
import type { Delivery, DeliveryDetail, DeliveryPage, Page } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import { rangeQuery } from "../../shared/time-range.ts";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { Icon } from "../../shared/ui/icon.tsx";
import { Popover } from "../../shared/ui/modal.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { BulkBar, type DeliverySelection, useDeliverySelection } from "../bulk/bulk-bar.tsx";
import { EventContent } from "../event/event-content.tsx";
import { flagsOf } from "../lists/command-flags.ts";
import { ExportButton } from "../lists/export-button.tsx";
import { LinkedFilters, TextFilter } from "../lists/filters.tsx";
import { SearchedTo } from "../lists/list-page.tsx";
import { isFollowing, NewRows, useSettledRows } from "../lists/new-rows.tsx";
import { SidePanel } from "../lists/side-panel.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { Attempts } from "./attempts.tsx";
import { deliveryCells, deliveryColumns, WorkingDeliveryTable } from "./delivery-table.tsx";
import { Verdict } from "./verdict.tsx";
import { statuses, wordsOf } from "./wording.ts";

const pageSize = 50;

export function DeliveriesPage() {
  const filters = useDeliveryQuery();
  const query = { ...filters, limit: pageSize, include: "webhook" };
  const key = JSON.stringify(query);
  const loaded = useApi<DeliveryPage>({ path: "v1/deliveries", query });
  const { params } = useAddress();
  const panel = params.get("panel");
  const selection = useDeliverySelection(JSON.stringify(filters));
  const settled = useSettledRows(loaded, { key, isFollowing: isFollowing.value });
  const { rows, matching, gone, waiting, merge, page, pageKey } = settled;
  useEffect(() => selection.drop(gone), [gone]);
  return (
    <>
      {useMemo(pageHead, [])}
      <div class="list-and-panel" data-with-panel={panel === null ? undefined : ""}>
        <Panel
          title="Deliveries"
          loaded={loaded}
          tools={
            <>
              <NewRows waiting={waiting} merge={merge} pageSize={pageSize} />
              <ExportButton
                path="v1/deliveries"
                query={filters}
                fileName="posthorn-deliveries.csv"
                tableOf={deliveryCells}
              />
              {useMemo(viewMenu, [])}
            </>
          }
          twin={{ path: "v1/deliveries", query, cli: shell`deliveries list${flagsOf(filters)}` }}
        >
          {rows.length === 0 ? (
            <p class="soft">{loaded.isOld ? "Loading…" : "No matching deliveries."}</p>
          ) : (
            <WorkingDeliveryTable caption="Deliveries" rows={rows} selection={selection.of(matching)} />
          )}
          {page !== null && !loaded.isOld && (
            <OlderRows key={pageKey} query={query} first={page} selection={selection} />
          )}
        </Panel>
        {panel !== null && <DeliveryPanel id={panel} />}
      </div>
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

/** Pages after the first one. They are loaded on demand and not refreshed. */
function OlderRows(props: {
  readonly query: object;
  readonly first: Page<Delivery>;
  readonly selection: DeliverySelection;
}) {
  const { query, first, selection } = props;
  const older = useSignal<readonly Delivery[]>([]);
  const last = useSignal<Page<Delivery> | null>(null);
  const error = useSignal<ApiError | null>(null);
  const end = last.value ?? first;
  const more = async () => {
    try {
      const next = { ...query, cursor: end.next_cursor };
      const { value } = await callApi<DeliveryPage>({ path: "v1/deliveries", query: next });
      last.value = value;
      older.value = [...older.value, ...value.data];
      error.value = null;
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      error.value = thrown;
    }
  };
  return (
    <>
      {older.value.length > 0 && (
        <WorkingDeliveryTable
          caption="Older deliveries"
          rows={older.value}
          selection={selection.of(older.value)}
        />
      )}
      {error.value !== null && <ErrorNote error={error.value} />}
      <SearchedTo end={end} more={more} />
    </>
  );
}

/** Address parameters that are passed to the API unchanged. */
const passedOn = [
  "status",
  "http_status",
  "event_type",
  "webhook_id",
  "event_id",
  "tenant_id",
  "failure_category",
  "waiting_for",
  "origin",
  "attempt_min",
  "error",
  "idempotency_key",
  "order",
] as const;

function queryOf(params: URLSearchParams, nowMs: number): Query {
  const query: Record<string, readonly string[] | string> = {};
  for (const name of passedOn) {
    const values = params.getAll(name).filter((value) => value !== "");
    if (values.length > 0) query[name] = values;
  }
  return { ...query, ...rangeQuery(params, nowMs) };
}

const linked = [
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

function DeliveryFilters() {
  const { params, set } = useAddress();
  const chosen = params.getAll("status");
  return (
    <div class="filters">
      <fieldset class="chips">
        <legend class="off-screen">State</legend>
        {statuses.map((status) => (
          <label key={status} class="chip">
            <input
              type="checkbox"
              checked={chosen.includes(status)}
              onChange={({ currentTarget }) =>
                set({
                  status: currentTarget.checked
                    ? [...chosen, status]
                    : chosen.filter((one) => one !== status),
                })
              }
            />
            {wordsOf(status).text}
          </label>
        ))}
      </fieldset>
      <div class="fields">
        <TextFilter name="event_type" label="Event type" placeholder="order.*" />
        <TextFilter name="http_status" label="Response" placeholder="422, 5xx, none" />
        <TextFilter name="error" label="Error contains" placeholder="timed out" isOneText />
        <LinkedFilters names={linked} />
      </div>
    </div>
  );
}

/** Filters in the address as a query. Relative ranges are recomputed each minute. */
function useDeliveryQuery(): Query {
  const { params } = useAddress();
  return queryOf(params, minute.value);
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
              <label>
                <input type="checkbox" checked={isCompact.value} onChange={toggleDensity} /> Compact rows
              </label>
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

/** Side panel of the list: enough to understand a delivery and to act on it. */
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
