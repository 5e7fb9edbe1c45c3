import { useAddress } from "../../shared/address.ts";
import { callApi } from "../../shared/api.ts";
import { refreshAll, useApi } from "../../shared/queries.ts";
import type { DeliveryDetail, Webhook } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { AsApi } from "../../shared/ui/as-api.tsx";
import { Badge } from "../../shared/ui/badge.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { When } from "../../shared/ui/when.tsx";
import { EventContent } from "../event/event-content.tsx";
import { ActionButton, mayManage } from "../form/action-button.tsx";
import { DetailPage, IdText, TimePhrase, useRouteId } from "../shell/detail-page.tsx";
import { shortUrl, WebhookLink } from "../webhook/webhook-link.tsx";
import { Attempts } from "./attempts.tsx";
import { StatusBadge } from "./delivery-table.tsx";
import { endingOf, waitingOf } from "./wording.ts";

export function DeliveryPage() {
  const id = useRouteId();
  const twin = { path: `v1/deliveries/${id}`, cli: shell`deliveries get ${id}` };
  const loaded = useApi<DeliveryDetail>({ path: twin.path });
  const { data, error } = loaded;
  const webhook = useApi<Webhook>(data === null ? null : { path: `v1/webhooks/${data.webhook_id}` });
  if (data === null) return <NotLoaded error={error} />;
  const url = webhook.data?.url ?? null;
  return (
    <DetailPage id={id} list="deliveries" title="Deliveries">
      <h1>
        {data.event_type} <span class="soft">to</span> {shortUrl(url) || "a deleted webhook"}
      </h1>
      <Verdict delivery={data} />
      <Panel title="Attempts" loaded={loaded} twin={twin}>
        <Attempts delivery={data} />
      </Panel>
      <EventContent id={data.event_id} />
      <Panel title="About this delivery" twin={twin}>
        <Facts
          rows={[
            ["Delivery", <IdText id={id} />],
            ["Event", <a href={pagePath(`events/${data.event_id}`)}>{data.event_id}</a>],
            ["Webhook", <WebhookLink id={data.webhook_id} url={null} />],
            ["Tenant", data.tenant_id],
            ["Priority", data.priority],
            ["Origin", data.origin],
            ["Created", <When at={data.created_at} isExact />],
            ["Ended", <When at={data.completed_at} isExact />],
          ]}
        />
      </Panel>
    </DetailPage>
  );
}

/** State of a delivery, the reason, and the available actions. */
export function Verdict({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { status, waiting_for, waiting_until, replay_of, replayed_by } = delivery;
  const waiting = waiting_for === null ? null : waitingOf(waiting_for);
  const waitingUntil = waiting === null ? null : waiting_until;
  return (
    <section class="verdict" aria-label="State and reason">
      <StatusBadge status={status} />
      <div>
        <p class="verdict-text">
          {waiting?.sentence ?? endingOf(delivery)}
          <TimePhrase before=" Until " at={waitingUntil} isExact />
          <TimePhrase before=" (" at={waitingUntil} after=")." />
          {replay_of !== null && (
            <>
              {" "}
              Replay of <a href={pagePath(`deliveries/${replay_of}`)}>another delivery</a>.
            </>
          )}
          {replayed_by !== null && (
            <>
              {" "}
              <a href={pagePath(`deliveries/${replayed_by}`)}>Newest replay</a>
            </>
          )}
        </p>
        <DeliveryGates gates={delivery.gates} />
        <DeliveryActions delivery={delivery} />
      </div>
    </section>
  );
}

/** Retry buttons. They are hidden if the API key may not retry. */
function DeliveryActions({ delivery }: { readonly delivery: DeliveryDetail }) {
  const { id, webhook_id, status, priority } = delivery;
  const isRetryable = status !== "pending" && delivery.waiting_for !== "in_flight";
  if (!mayManage() || !isRetryable) return null;
  const path = `v1/webhooks/${webhook_id}/deliveries/${id}/retry`;
  return (
    <div class="actions">
      <RetryButton
        label="Retry now"
        id={id}
        path={path}
        body={{}}
        isPrimary={status !== "success"}
        shortcut="r"
      />
      {priority !== "high" && (
        <RetryButton label="Retry with high priority" id={id} path={path} body={{ priority: "high" }} />
      )}
      <AsApi what="Retry" twin={{ method: "POST", path, body: {}, cli: shell`deliveries retry ${id}` }} />
    </div>
  );
}

/** Stays on the page after a retry. Retrying an accepted delivery creates a copy and opens the copy's page. */
function RetryButton(props: {
  readonly label: string;
  readonly id: string;
  readonly path: string;
  readonly body: object;
  readonly isPrimary?: boolean;
  readonly shortcut?: string;
}) {
  const { id, path, body, ...button } = props;
  const { go } = useAddress();
  const retry = async () => {
    const { value } = await callApi<{ readonly delivery_id: string }>({ method: "POST", path, body });
    if (value.delivery_id === id) await refreshAll();
    else go(pagePath(`deliveries/${value.delivery_id}`));
  };
  return <ActionButton {...button} run={retry} done="Retried" />;
}

type DeliveryGate = DeliveryDetail["gates"][number];

/**
 * Gates that currently hold a delivery. Each shows when it closed, when it opens, why, and a button that resolves the
 * cause.
 */
function DeliveryGates({ gates }: { readonly gates: readonly DeliveryGate[] }) {
  if (gates.length === 0) return null;
  return (
    <ul class="gates" aria-label="Gates that hold this delivery">
      {gates.map((gate) => (
        <ClosedGate key={gate.gate} {...gate} />
      ))}
    </ul>
  );
}

export function ClosedGate({ gate, since, until, cause, remedy }: DeliveryGate) {
  return (
    <li>
      <Badge tone="held" text="holding" />
      <strong>{waitingOf(gate).short}</strong>
      <span>
        {cause}
        <TimePhrase before=" Since " at={since} isExact after="." />
        <TimePhrase before=" Until " at={until} isExact after="." />
        {remedy !== null && gate !== "schedule" && <RemedyOf remedy={remedy} />}
      </span>
    </li>
  );
}

/** Shows text instead of a button for remedies that only read data or need input. */
function RemedyOf({ remedy }: { readonly remedy: NonNullable<DeliveryGate["remedy"]> }) {
  const { text, method, path, body } = remedy;
  if (method === "GET" || body === null || !mayManage()) return <span class="soft"> {text}</span>;
  return (
    <>
      {" "}
      <ActionButton
        label={text.replace(/\.$/, "")}
        run={() => callApi({ method, path: path.replace(/^\//, ""), body })}
        done="Done"
      />
    </>
  );
}
