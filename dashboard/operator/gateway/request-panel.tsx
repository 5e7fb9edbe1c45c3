import type { GatewayRequestDetail } from "../../shared/resources.ts";
import { SidePanel } from "../side-panel.tsx";
import { nameOfRequest } from "./request-table.tsx";
import { RequestContent, RequestVerdict } from "./request-view.tsx";
import { SourceLink } from "./source-link.tsx";

/** Side panel of the list: outcome of a request, its reason, actions and content. */
export function RequestPanel({ id }: { readonly id: string }) {
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
