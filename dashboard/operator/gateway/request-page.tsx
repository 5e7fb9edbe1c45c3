import { useRoute } from "preact-iso";
import { useApi } from "../../shared/queries.ts";
import type { GatewayRequestDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { nameOfRequest } from "./request-table.tsx";
import { RequestContent, RequestVerdict } from "./request-view.tsx";
import { SourceLink } from "./source-link.tsx";

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
