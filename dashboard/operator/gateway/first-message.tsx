import { useApi } from "../../shared/queries.ts";
import type { GatewayRequest, Page, Source } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { ChangeVerificationButton } from "./change-verification.tsx";
import { RequestBadge } from "./request-badge.tsx";
import { nameOfRequest } from "./request-table.tsx";
import { explanationOf } from "./explanation.ts";

const askEveryMs = 1_000;

/** Waits for the first request and explains its outcome. */
export function FirstMessage(props: {
  readonly source: Source;
  /** Method of the provider's address check, if it has one. */
  readonly addressCheck: "get" | "head" | "post" | null;
}) {
  const { source, addressCheck } = props;
  const query = { source_id: source.id, limit: 5 };
  const loaded = useApi<Page<GatewayRequest>>({ path: "v1/requests", query }, { everyMs: askEveryMs });
  const rows = loaded.data?.data ?? [];
  const [newest] = rows;
  return (
    <Panel
      title="2. First message"
      loaded={loaded}
      tools={rows.length > 0 && <a href={`${pagePath("requests")}?source_id=${source.id}`}>All requests</a>}
      twin={{ path: "v1/requests", query, cli: shell`requests list --source ${source.id} --limit 5` }}
    >
      <div role="status" class="first-message">
        {newest === undefined ? (
          <p class="waiting-dots">
            Waiting for the first message
            {addressCheck !== null && " or the address check"}…
          </p>
        ) : (
          <Arrived source={source} request={newest} />
        )}
      </div>
      {newest === undefined && (
        <p class="soft">
          Follow the steps, then trigger a message at the sender. This page updates automatically.
        </p>
      )}
    </Panel>
  );
}

function Arrived({ source, request }: { readonly source: Source; readonly request: GatewayRequest }) {
  const { sentence, remedy } = explanationOf(request);
  const { id, outcome, scheme, detail, status, received_at } = request;
  const isAuthentic = outcome !== "rejected";
  return (
    <>
      <p class="verdict-text">
        <RequestBadge outcome={outcome} />{" "}
        <a href={pagePath(`requests/${id}`)}>
          <strong>{nameOfRequest(request)}</strong>
        </a>{" "}
        arrived <When at={received_at} />. Response: {status}.
      </p>
      <p>
        {isAuthentic && scheme !== null && outcome !== "challenge" && <>Verified as {scheme}. </>}
        {sentence} {remedy}
      </p>
      {!isAuthentic && detail !== null && (
        <p>
          <code>{detail}</code>
        </p>
      )}
      {status === 401 && (
        <div class="actions">
          <ChangeVerificationButton source={source} label="Change secret…" />
          <a class="button" href={pagePath(`requests/${id}`)}>
            Open request to retry
          </a>
        </div>
      )}
    </>
  );
}
