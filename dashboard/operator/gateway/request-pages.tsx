import { useRoute } from "preact-iso";
import { useAddress } from "../../shared/address.ts";
import type { Query } from "../../shared/api.ts";
import { minute } from "../../shared/clock.ts";
import { useApi } from "../../shared/queries.ts";
import type { GatewayRequest, GatewayRequestDetail, Page } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell, shellOptions } from "../../shared/shell-text.ts";
import { rangeQuery } from "../../shared/time-range.ts";
import { DataTable } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { LinkedFilters, TextFilter } from "../lists/filters.tsx";
import { FurtherRows, pageSize } from "../lists/list-page.tsx";
import { isFollowing, NewRows, useSettledRows } from "../lists/new-rows.tsx";
import { PeekingRows, SidePanel, usePeeking } from "../lists/side-panel.tsx";
import { GatewayTabs, SourceLink } from "./parts.tsx";
import { nameOfRequest, requestColumns } from "./request-table.tsx";
import { RequestContent, RequestVerdict } from "./request-view.tsx";
import { outcomeOf, outcomes } from "./wording.ts";

const passedOn = ["outcome", "status", "rejection_cause", "source_id", "bookmarked", "tenant_id"] as const;

/** Option names of `posthorn requests list`. */
const flags: Readonly<Record<string, string>> = {
  source_id: "source",
  outcome: "outcome",
  rejection_cause: "cause",
};

const keyOf = ({ id }: GatewayRequest) => id;

/** All requests to source addresses, accepted or not. */
export function RequestsPage() {
  const { params } = useAddress();
  const filters: Query = {
    ...Object.fromEntries(passedOn.map((name) => [name, params.get(name)])),
    ...rangeQuery(params, minute.value),
  };
  const query = { limit: pageSize, ...filters };
  const key = JSON.stringify(query);
  const loaded = useApi<Page<GatewayRequest>>({ path: "v1/requests", query });
  const peeking = usePeeking();
  const { peekedKey } = peeking;
  const settled = useSettledRows(loaded, { key, isFollowing: isFollowing.value });
  const { rows, waiting, merge, page, pageKey } = settled;
  const chosen = Object.entries(filters).flatMap(([name, value]) =>
    flags[name] === undefined || typeof value !== "string" ? [] : [[flags[name], value] as const],
  );
  return (
    <>
      <PageHead title="Requests">
        <RangePicker />
      </PageHead>
      <GatewayTabs />
      <Filters />
      <div class="list-and-panel" data-with-panel={peekedKey === null ? undefined : ""}>
        <Panel
          title="Requests"
          loaded={loaded}
          tools={<NewRows waiting={waiting} merge={merge} pageSize={pageSize} />}
          twin={{ path: "v1/requests", query, cli: shell`requests list${shellOptions(chosen)}` }}
        >
          <PeekingRows>
            {rows.length === 0 && loaded.isOld && <p class="soft">Loading…</p>}
            {rows.length === 0 && !loaded.isOld && (
              <NoRequests isNarrowed={passedOn.some((name) => params.has(name))} />
            )}
            {rows.length > 0 && (
              <DataTable caption="Requests" columns={requestColumns} rows={rows} keyOf={keyOf} {...peeking} />
            )}
            {page !== null && !loaded.isOld && (
              <FurtherRows
                key={pageKey}
                title="Requests"
                path="v1/requests"
                query={query}
                columns={requestColumns}
                keyOf={keyOf}
                first={page}
                peeking={peeking}
              />
            )}
          </PeekingRows>
        </Panel>
        {peekedKey !== null && <RequestPanel id={peekedKey} />}
      </div>
    </>
  );
}

function Filters() {
  const { params, set } = useAddress();
  const chosen = params.get("outcome");
  return (
    <div class="filters">
      <fieldset class="chips">
        <legend class="off-screen">Outcome</legend>
        {[null, ...outcomes].map((outcome) => (
          <label key={outcome} class="chip">
            <input
              type="radio"
              name="outcome"
              checked={chosen === outcome}
              onChange={() => set({ outcome: outcome === null ? [] : [outcome] })}
            />{" "}
            {outcome === null ? "all" : outcomeOf(outcome).text}
          </label>
        ))}
        <label class="chip">
          <input
            type="checkbox"
            checked={params.get("bookmarked") === "true"}
            onChange={({ currentTarget: { checked } }) => set({ bookmarked: checked ? ["true"] : [] })}
          />{" "}
          bookmarked
        </label>
      </fieldset>
      <div class="fields">
        <TextFilter name="status" label="Response" placeholder="401" isOneText />
        <TextFilter name="rejection_cause" label="Cause" placeholder="no_matching_signature" isOneText />
        <LinkedFilters names={["source_id", "tenant_id"]} />
      </div>
    </div>
  );
}

function NoRequests({ isNarrowed }: { readonly isNarrowed: boolean }) {
  if (isNarrowed) return <p class="soft">No matching requests.</p>;
  return (
    <div class="teaching">
      <p>
        No requests yet. All requests to a <a href={pagePath("sources")}>source</a> are logged here for seven
        days. Rejected requests are included, with the reason and a remedy.
      </p>
      <p class="soft">
        Bodies of rejected requests are kept for a day, so that you can retry them after fixing the secret.
      </p>
    </div>
  );
}

/** Side panel of the list: outcome of a request, its reason, actions and content. */
function RequestPanel({ id }: { readonly id: string }) {
  return (
    <SidePanel<GatewayRequestDetail> what="Request" collection="requests" id={id} nameOf={nameOfRequest}>
      {(request) => (
        <>
          <p>
            at <SourceLink id={request.source_id} />
          </p>
          <RequestVerdict request={request} />
          <RequestContent key={id} request={request} />
        </>
      )}
    </SidePanel>
  );
}

export function RequestPage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const { data, error } = useApi<GatewayRequestDetail>({ path: `v1/requests/${id}` });
  if (data === null) return <NotLoaded error={error} />;
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("requests")}>Requests</a>
      </p>
      <h1>
        {nameOfRequest(data)} <span class="soft">at</span> <SourceLink id={data.source_id} />
      </h1>
      <RequestVerdict request={data} />
      <RequestContent request={data} />
    </div>
  );
}
