import { useAddress } from "../../shared/address.ts";
import type { Query } from "../../shared/api.ts";
import { minute } from "../../shared/clock.ts";
import { useApi } from "../../shared/queries.ts";
import type { GatewayRequest, GatewayRequestDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell, shellOptions } from "../../shared/shell-text.ts";
import { rangeQuery } from "../../shared/time-range.ts";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead } from "../../shared/ui/page-head.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { FlagChip, LinkedFilters, TextFilter } from "../lists/filters.tsx";
import { LiveList, pageSize } from "../lists/list-page.tsx";
import { SidePanel } from "../lists/side-panel.tsx";
import { DetailPage, useRouteId } from "../shell/detail-page.tsx";
import { GatewayTabs, SourceLink } from "./parts.tsx";
import { nameOfRequest, requestColumns, RequestContent, RequestVerdict } from "./request-view.tsx";
import { outcomeOf, outcomes } from "./wording.ts";

const passedOn = ["outcome", "status", "rejection_cause", "source_id", "bookmarked", "tenant_id"] as const;

/** Option names of `posthorn requests list`. */
const flags: Readonly<Record<string, string>> = {
  source_id: "source",
  outcome: "outcome",
  rejection_cause: "cause",
};

/** List of all requests to source URLs, accepted or not. */
export function RequestsPage() {
  const { params } = useAddress();
  const filters: Query = {
    ...Object.fromEntries(passedOn.map((name) => [name, params.get(name)])),
    ...rangeQuery(params, minute.value),
  };
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
      <LiveList<GatewayRequest>
        title="Requests"
        path="v1/requests"
        query={{ limit: pageSize, ...filters }}
        cli={shell`requests list${shellOptions(chosen)}`}
        columns={requestColumns}
        none={<NoRequests isNarrowed={passedOn.some((name) => params.has(name))} />}
        panelOf={(id) => <RequestPanel id={id} />}
      />
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
        <FlagChip name="bookmarked" label="bookmarked" />
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
  const id = useRouteId();
  const { data, error } = useApi<GatewayRequestDetail>({ path: `v1/requests/${id}` });
  if (data === null) return <NotLoaded error={error} />;
  return (
    <DetailPage id={id} list="requests" title="Requests">
      <h1>
        {nameOfRequest(data)} <span class="soft">at</span> <SourceLink id={data.source_id} />
      </h1>
      <RequestVerdict request={data} />
      <RequestContent request={data} />
    </DetailPage>
  );
}
