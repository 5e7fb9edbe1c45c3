import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { useAddress } from "../../shared/address.ts";
import { ApiError, callApi } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { Delivery, DeliveryPage, Page } from "../../shared/resources.ts";
import { shell } from "../../shared/shell-text.ts";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { flagsOf } from "../delivery/command-flags.ts";
import { deliveryCells } from "../delivery/delivery-cells.ts";
import { DeliveryFilters, useDeliveryQuery } from "../delivery/delivery-filters.tsx";
import { BulkBar } from "../delivery/bulk-bar.tsx";
import { DeliveryPanel } from "../delivery/delivery-panel.tsx";
import { useDeliverySelection, type DeliverySelection } from "../delivery/delivery-selection.ts";
import { WorkingDeliveryTable } from "../delivery/delivery-table.tsx";
import { ViewMenu } from "../delivery/view-menu.tsx";
import { ExportButton } from "../export-button.tsx";
import { isFollowing } from "../following.ts";
import { NewRows } from "../new-rows.tsx";
import { SearchedTo } from "../searched-to.tsx";
import { useSettledRows } from "../use-settled-rows.ts";

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
