import type { ComponentChildren } from "preact";
import { useRoute } from "preact-iso";
import { duration, shortSpan } from "../../shared/format.ts";
import { useApi } from "../../shared/queries.ts";
import type { DeliveryPage, Webhook, WebhookBacklog, WebhookHealth } from "../../shared/resources.ts";
import { pagePath } from "../../shared/root.ts";
import { shell } from "../../shared/shell-text.ts";
import { Badge } from "../../shared/ui/badge.tsx";
import { CopyButton } from "../../shared/ui/copy-button.tsx";
import { Facts } from "../../shared/ui/data-table.tsx";
import { NotLoaded } from "../../shared/ui/error-note.tsx";
import { PageHead, type Tab, Tabs, useTab } from "../../shared/ui/page-head.tsx";
import { Panel } from "../../shared/ui/panel.tsx";
import { RangePicker } from "../../shared/ui/range-picker.tsx";
import { When } from "../../shared/ui/when.tsx";
import { DeliveryTable } from "../delivery/delivery-table.tsx";
import { mayManage } from "../form/action-button.tsx";
import { usualRange } from "../statistics/traffic-panels.tsx";
import { RotateButton, WebhookActions } from "./webhook-actions.tsx";
import { WebhookCharts } from "./webhook-charts.tsx";
import { Revisions, WebhookTimeline } from "./webhook-history.tsx";
import { shortUrl, statusReasonText, WebhookBadge } from "./webhook-link.tsx";

const tabs: readonly Tab[] = [
  { name: "", title: "Overview" },
  { name: "deliveries", title: "Deliveries" },
  { name: "settings", title: "Settings" },
  { name: "security", title: "Security" },
  { name: "timeline", title: "Timeline" },
  { name: "revisions", title: "Revisions" },
];

export function WebhookPage() {
  const { params } = useRoute();
  const id = params["id"] ?? "";
  const webhook = useApi<Webhook>({ path: `v1/webhooks/${id}` });
  const health = useApi<WebhookHealth>({ path: `v1/webhooks/${id}/health` });
  const tab = useTab(tabs);
  const { data, error } = webhook;
  if (data === null) return <NotLoaded error={error} />;
  return (
    <div data-page-id={id}>
      <p class="trail">
        <a href={pagePath("webhooks")}>Webhooks</a>
      </p>
      <PageHead title={shortUrl(data.url)} beside={<WebhookBadge webhook={data} />}>
        {tab === "" && <RangePicker fallback={usualRange} />}
      </PageHead>
      {data.description !== "" && <p>{data.description}</p>}
      <Tabs label="Parts of this webhook" tabs={tabs} />
      {tab === "" && (
        <>
          <Panel
            title="Gates"
            loaded={health}
            twin={{ path: `v1/webhooks/${id}/health`, cli: shell`webhooks health ${id}` }}
          >
            {health.data !== null && <Gates webhook={data} health={health.data} />}
            <WebhookActions webhook={data} health={health.data} />
          </Panel>
          <Backlog id={id} />
          <WebhookCharts id={id} />
        </>
      )}
      {tab === "deliveries" && <Deliveries id={id} />}
      {tab === "settings" && <Settings webhook={data} />}
      {tab === "security" && <Security webhook={data} />}
      {tab === "timeline" && <WebhookTimeline id={id} />}
      {tab === "revisions" && <Revisions id={id} />}
    </div>
  );
}

function Deliveries({ id }: { readonly id: string }) {
  const query = { limit: 20 };
  const loaded = useApi<DeliveryPage>({ path: `v1/webhooks/${id}/deliveries`, query });
  const rows = loaded.data?.data ?? [];
  return (
    <Panel
      title="Deliveries"
      loaded={loaded}
      tools={<a href={`${pagePath("deliveries")}?webhook_id=${id}`}>All deliveries</a>}
      twin={{ path: `v1/webhooks/${id}/deliveries`, query, cli: shell`webhooks deliveries ${id}` }}
    >
      {rows.length === 0 ? (
        <p class="soft">No deliveries yet.</p>
      ) : (
        <DeliveryTable caption="Deliveries of this webhook, newest first" rows={rows} withoutWebhook />
      )}
    </Panel>
  );
}

function Settings({ webhook }: { readonly webhook: Webhook }) {
  const { id, retry_config: retry } = webhook;
  return (
    <Panel title="Settings" twin={{ path: `v1/webhooks/${id}`, cli: shell`webhooks get ${id}` }}>
      <Facts
        rows={[
          [
            "Webhook",
            <>
              <code>{id}</code> <CopyButton text={id} label="Copy id" />
            </>,
          ],
          ["URL", <code key="url">{webhook.url}</code>],
          ["Events", webhook.events.join(", ")],
          ["Tenant", webhook.tenant_id],
          ["Profile", webhook.profile],
          ["Format", webhook.payload_format],
          ["Order", webhook.ordering_guarantee],
          ["Maximum attempts", retry.max_attempts],
          ["Timeout", duration(webhook.timeout_ms)],
          ["Created", <When key="made" at={webhook.created_at} isExact />],
          ["Changed", <When key="changed" at={webhook.updated_at} isExact />],
        ]}
      />
    </Panel>
  );
}

/** Gates that can hold deliveries of a webhook: open or closed, since when, until when, and why. */
function Gates({ webhook, health }: { readonly webhook: Webhook; readonly health: WebhookHealth }) {
  const { circuit_breaker: circuit, paused_until, pause_reason, in_flight } = health;
  const isActive = webhook.status === "active";
  return (
    <ul class="gates">
      <Gate title="Webhook" isOpen={isActive}>
        {isActive ? "active" : `${webhook.status}: ${statusReasonText(webhook.status_reason)}`}
      </Gate>
      <Gate title="Manual pause" isOpen={webhook.pause === null}>
        {webhook.pause === null ? (
          "not paused"
        ) : (
          <>
            paused <When at={webhook.pause.since} />
            {webhook.pause.until !== null && (
              <>
                , until <When at={webhook.pause.until} isExact />
              </>
            )}
            {webhook.pause.reason !== null && `: ${webhook.pause.reason}`}
          </>
        )}
      </Gate>
      <Gate title="Circuit" isOpen={circuit.state === "closed"}>
        {circuit.state === "closed" ? "closed" : circuit.state.replace("_", " ").toLowerCase()}
        {circuit.state !== "closed" && (
          <>
            {" "}
            since <When at={circuit.state_transition_at} />
          </>
        )}
        {circuit.next_half_open_at !== null && (
          <>
            , next probe <When at={circuit.next_half_open_at} />
          </>
        )}
        {circuit.total_calls_in_window > 0 && (
          <span class="soft">
            {" "}
            ({circuit.failure_count_in_window} of {circuit.total_calls_in_window} failed)
          </span>
        )}
      </Gate>
      <Gate title="Automatic pause" isOpen={paused_until === null}>
        {paused_until === null ? (
          "none"
        ) : (
          <>
            {(pause_reason ?? "").replaceAll("_", " ")} until <When at={paused_until} isExact /> (
            <When at={paused_until} />)
          </>
        )}
      </Gate>
      {health.disables_at !== null && (
        <Gate title="Disable rule" isOpen={webhook.active}>
          will be disabled <When at={health.disables_at} isExact /> (<When at={health.disables_at} />) if no
          delivery is accepted until then
        </Gate>
      )}
      <Gate title="In flight" isOpen>
        {in_flight} {in_flight === 1 ? "request" : "requests"}
      </Gate>
    </ul>
  );
}

function Gate(props: {
  readonly title: string;
  readonly isOpen: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <li>
      <Badge tone={props.isOpen ? "good" : "held"} text={props.isOpen ? "open" : "holding"} />
      <strong>{props.title}</strong>
      <span>{props.children}</span>
    </li>
  );
}

/** Waiting deliveries of a webhook, their age, and the estimated time to drain. */
function Backlog({ id }: { readonly id: string }) {
  const loaded = useApi<WebhookBacklog>({ path: `v1/webhooks/${id}/backlog` });
  const { data } = loaded;
  return (
    <Panel
      title="Backlog"
      loaded={loaded}
      tools={
        data !== null &&
        data.total > 0 && (
          <a
            href={`${pagePath("deliveries")}?webhook_id=${id}&status=pending&status=failed&status=circuit_blocked&order=next_attempt`}
          >
            Waiting deliveries
          </a>
        )
      }
      twin={{ path: `v1/webhooks/${id}/backlog`, cli: shell`webhooks backlog ${id}` }}
    >
      {data !== null && <BacklogSentence backlog={data} />}
    </Panel>
  );
}

function BacklogSentence({ backlog }: { readonly backlog: WebhookBacklog }) {
  const { total, more, waiting, oldest_created_at } = backlog;
  if (total === 0) return <p class="soft">No deliveries waiting.</p>;
  const priorities = Object.entries(waiting).filter(([, count]) => count > 0);
  return (
    <p>
      <strong>
        {total.toLocaleString()}
        {more && " or more"}
      </strong>{" "}
      {total === 1 ? "delivery" : "deliveries"} waiting (
      {priorities.map(([name, count]) => `${name} ${count.toLocaleString()}`).join(", ")}). The oldest was
      created <When at={oldest_created_at} />. {drainText(backlog)}
    </p>
  );
}

/** No estimate is possible while nothing is accepted. */
function drainText({ accepted_per_second, drain_seconds }: WebhookBacklog): string {
  if (drain_seconds === null) {
    return accepted_per_second === 0
      ? "No delivery was accepted in the last five minutes, so no estimate is possible."
      : "No estimate is possible, because the backlog exceeds the count limit.";
  }
  return `At ${accepted_per_second.toLocaleString(undefined, { maximumFractionDigits: 2 })} per second, the backlog drains in about ${shortSpan(drain_seconds * 1_000)}.`;
}

/** Authentication of requests, and verification of the receiver. Secrets are not shown. */
function Security({ webhook }: { readonly webhook: Webhook }) {
  const { id, verification, client_certificate: certificate, credential_headers: headers } = webhook;
  const names = Object.keys(headers);
  return (
    <Panel title="Security" twin={{ path: `v1/webhooks/${id}`, cli: shell`webhooks get ${id}` }}>
      <Facts
        rows={[
          ["Signatures", webhook.signing.schemes.join(", ") || "none"],
          ["Signing secret", webhook.secret ?? "none"],
          ["Bearer token", webhook.has_bearer_token ? `sent in the ${webhook.bearer_token_in}` : "none"],
          ["Secret headers", names.length === 0 ? "none" : names.join(", ")],
          ["OAuth 2.0", webhook.oauth2 === null ? "none" : "one token per delivery"],
          ["Client certificate", certificate === null ? "none" : certificate.subject],
          ["Receiver verification", permissionText(verification)],
          ["Verified", <When key="granted" at={verification.granted_at} isExact />],
          ...(verification.dns_record === null
            ? []
            : ([
                ["DNS record", `${verification.dns_record.name} TXT ${verification.dns_record.value}`],
              ] as const)),
        ]}
      />
      {mayManage() && (
        <div class="actions">
          <RotateButton path={`v1/webhooks/${id}`} />
        </div>
      )}
    </Panel>
  );
}

function permissionText({ method, state, detail }: Webhook["verification"]): string {
  if (state === "none") return "not required";
  return `${state} by ${method}${detail === null ? "" : `: ${detail}`}`;
}
