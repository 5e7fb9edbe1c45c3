import { useRoute } from "preact-iso";
import { useSignal } from "@preact/signals";
import { useApi } from "../../shared/queries.ts";
import type { DeliveryDetail, Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { ErrorNote } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { AttemptView } from "../delivery/attempt-view.tsx";
import { DeliveryActions } from "../delivery/delivery-actions.tsx";
import { StatusBadge } from "../delivery/status-badge.tsx";
import { Timeline } from "../delivery/timeline.tsx";
import { endingOf, waitingOf } from "../delivery/wording.ts";
import { shortUrl, WebhookLink } from "../webhook/webhook-link.tsx";
import { EventContent } from "../event/event-content.tsx";

export function DeliveryPage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const loaded = useApi<DeliveryDetail>({ path: `v1/deliveries/${id}` });
  const { data, error } = loaded;
  const webhook = useApi<Webhook>(data === null ? null : { path: `v1/webhooks/${data.webhook_id}` });
  if (data === null)
    return error === null ? <p class="waiting soft">Loading…</p> : <ErrorNote error={error} />;
  const url = webhook.data?.url ?? null;
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("deliveries")}>Deliveries</a>
      </p>
      <h1>
        {data.event_type} <span class="soft">to</span> {shortUrl(url) || "a deleted webhook"}
      </h1>
      <Verdict delivery={data} />
      <Panel
        title="Attempts"
        loaded={loaded}
        twin={{ path: `v1/deliveries/${id}`, cli: `deliveries get ${id}` }}
      >
        <Attempts delivery={data} />
      </Panel>
      <EventContent id={data.event_id} />
      <Panel title="About this delivery">
        <Facts
          rows={[
            ["Delivery", <Id key="id" id={id} />],
            [
              "Event",
              <a key="event" href={pagePath(`events/${data.event_id}`)}>
                {data.event_id}
              </a>,
            ],
            ["Webhook", <WebhookLink key="webhook" id={data.webhook_id} url={url} />],
            ["Tenant", data.tenant_id],
            ["Priority", data.priority],
            ["Origin", data.origin],
            ["Made", <When key="made" at={data.created_at} isExact />],
            ["Ended", <When key="ended" at={data.completed_at} isExact />],
          ]}
        />
      </Panel>
    </div>
  );
}

function Id({ id }: { readonly id: string }) {
  return (
    <>
      <code>{id}</code> <CopyButton text={id} label="Copy the id" />
    </>
  );
}

/** In what state it is and why, until when, and what can be done about it. */
function Verdict({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { status, waiting_for, waiting_until, superseded_by } = delivery;
  const waiting = waiting_for === null ? null : waitingOf(waiting_for);
  return (
    <section class="verdict" aria-label="Why it is as it is">
      <StatusBadge status={status} />
      <div>
        <p class="verdict-text">
          {waiting?.sentence ?? endingOf(delivery)}
          {waiting !== null && waiting_until !== null && (
            <>
              {" "}
              Until <When at={waiting_until} isExact /> (<When at={waiting_until} />
              ).
            </>
          )}
          {superseded_by !== null && (
            <>
              {" "}
              <a href={pagePath(`deliveries/${superseded_by}`)}>The retry that took its place</a>
            </>
          )}
        </p>
        <DeliveryActions delivery={delivery} remedy={waiting?.remedy ?? null} />
      </div>
    </section>
  );
}

function Attempts({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { attempts } = delivery;
  const chosen = useSignal<number | null>(null);
  const at = Math.min(chosen.value ?? attempts.length - 1, attempts.length - 1);
  const attempt = attempts[at];
  const step = (by: number) => (chosen.value = Math.max(0, Math.min(attempts.length - 1, at + by)));
  if (attempt === undefined) return <p class="soft">No request was made yet.</p>;
  return (
    <>
      <Timeline delivery={delivery} chosen={at} choose={(index) => (chosen.value = index)} />
      <div class="attempt-steps">
        <button type="button" data-key="[" disabled={at === 0} onClick={() => step(-1)}>
          Previous
        </button>
        <span>
          Attempt {attempt.attempt_number} of {attempts.length}
        </span>
        <button type="button" data-key="]" disabled={at === attempts.length - 1} onClick={() => step(1)}>
          Next
        </button>
      </div>
      <AttemptView attempt={attempt} />
    </>
  );
}
