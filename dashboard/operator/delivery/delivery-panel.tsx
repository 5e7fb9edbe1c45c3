import { useApi } from "../../shared/queries.ts";
import type { DeliveryDetail } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { Icon } from "../../shared/ui/icon.tsx";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { EventContent } from "../event/event-content.tsx";
import { useClosePanel } from "../peeking.tsx";
import { WebhookLink } from "../webhook/webhook-link.tsx";
import { Attempts, Verdict } from "./delivery-view.tsx";

/** One delivery beside the list: enough to understand it and to act, and the way to its page. */
export function DeliveryPanel({ id }: { readonly id: string }) {
  const close = useClosePanel(id);
  const loaded = useApi<DeliveryDetail>({ path: `v1/deliveries/${id}` });
  const { data, error, loadedAt } = loaded;
  return (
    <aside class="side-panel" aria-label="Delivery beside the list">
      <header class="panel-head">
        <h2>{data?.event_type ?? "Delivery"}</h2>
        <div class="panel-tools">
          <a href={pagePath(`deliveries/${id}`)}>Open its page</a>
          <AsApi what="Delivery" twin={{ path: `v1/deliveries/${id}`, cli: `deliveries get ${id}` }} />
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
            to <WebhookLink id={data.webhook_id} url={null} />
          </p>
          <Verdict delivery={data} />
          <Attempts key={id} delivery={data} />
          <EventContent id={data.event_id} />
        </>
      )}
    </aside>
  );
}
