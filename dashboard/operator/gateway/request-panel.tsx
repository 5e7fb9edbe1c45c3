import { useApi } from "../../shared/queries.ts";
import type { GatewayRequestDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { Icon } from "../../shared/ui/icon.tsx";
import { useClosePanel } from "../peeking.tsx";
import { nameOfRequest } from "./request-table.tsx";
import { RequestContent, RequestVerdict } from "./request-view.tsx";
import { SourceLink } from "./source-link.tsx";

/** One request beside the list: why it was taken or not, what can be done, and what came. */
export function RequestPanel({ id }: { readonly id: string }) {
  const close = useClosePanel(id);
  const { data, error, loadedAt } = useApi<GatewayRequestDetail>({ path: `v1/requests/${id}` });
  return (
    <aside class="side-panel" aria-label="Request beside the list">
      <header class="panel-head">
        <h2>{data === null ? "Request" : nameOfRequest(data)}</h2>
        <div class="panel-tools">
          <a href={pagePath(`requests/${id}`)}>Open its page</a>
          <AsApi what="Request" twin={{ path: `v1/requests/${id}`, cli: `requests get ${id}` }} />
          <button
            type="button"
            class="quiet icon-button"
            aria-label="Close the panel"
            data-key="Escape"
            onClick={close}
          >
            <Icon name="close" />
          </button>
        </div>
      </header>
      {error !== null && <ErrorNote error={error} since={loadedAt} />}
      {data !== null && data.id === id && (
        <>
          <p>
            at <SourceLink id={data.source_id} />
          </p>
          <RequestVerdict request={data} />
          <RequestContent key={id} request={data} />
        </>
      )}
    </aside>
  );
}
