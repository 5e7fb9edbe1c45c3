import { useSignal } from "@preact/signals";
import { ApiError, callApi } from "../../shared/api.ts";
import { useApi } from "../../shared/queries.ts";
import type { Delivery, DeliveryPage } from "../../shared/resources.ts";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { DeliveryFilters, flagsOf, useDeliveryQuery } from "../delivery/delivery-filters.tsx";
import { DeliveryTable } from "../delivery/delivery-table.tsx";
import { isFollowing } from "../following.ts";
import { useSettledRows } from "../use-settled-rows.ts";

const pageSize = 50;

export function DeliveriesPage() {
  const filters = useDeliveryQuery();
  const query = { ...filters, limit: pageSize, include: "webhook" };
  const key = JSON.stringify(query);
  const loaded = useApi<DeliveryPage>({ path: "v1/deliveries", query });
  const { rows, waiting, merge } = useSettledRows(loaded.data?.data ?? null, {
    key,
    isFollowing: isFollowing.value,
  });
  return (
    <>
      <h1>Deliveries</h1>
      <DeliveryFilters />
      <Panel
        title="Deliveries"
        loaded={loaded}
        tools={
          <>
            {waiting > 0 && (
              <button type="button" onClick={merge}>
                {waiting >= pageSize ? `${pageSize} or more` : waiting} new
              </button>
            )}
            <label>
              <input
                type="checkbox"
                checked={isFollowing.value}
                onChange={({ currentTarget }) => (isFollowing.value = currentTarget.checked)}
              />{" "}
              follow
            </label>
          </>
        }
        twin={{ path: "v1/deliveries", query, cli: `deliveries list${flagsOf(filters)}` }}
      >
        {rows.length === 0 ? (
          <p class="soft">No delivery matches.</p>
        ) : (
          <DeliveryTable caption="Deliveries, newest first" rows={rows} />
        )}
        {loaded.data !== null && <OlderRows key={key} query={query} first={loaded.data} />}
      </Panel>
    </>
  );
}

/** Pages behind the first one. They are read when they are asked for, and stay as they were. */
function OlderRows({ query, first }: { readonly query: object; readonly first: DeliveryPage }) {
  const older = useSignal<readonly Delivery[]>([]);
  const last = useSignal<DeliveryPage | null>(null);
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
      {older.value.length > 0 && <DeliveryTable caption="Older deliveries" rows={older.value} />}
      {error.value !== null && <ErrorNote error={error.value} />}
      <p class="table-end">
        {!end.complete && end.searched_to !== null && (
          <span class="soft">
            Searched back to <When at={end.searched_to} isExact />.{" "}
          </span>
        )}
        {end.next_cursor !== null && (
          <button type="button" onClick={() => void more()}>
            {end.complete ? "Older" : "Search further"}
          </button>
        )}
      </p>
    </>
  );
}
